// objects made, read, written, grouped by key = 334515521
function work(size) {
  const rows = [];
  for (let i = 0; i < size; i++) rows.push({ id: i, team: 'team' + (i % 50), score: (i * 37) % 1009, active: true });
  const teams = {};
  for (const row of rows) {
    const team = (teams[row.team] ??= { members: 0, score: 0, best: -1 });
    team.members++;
    team.score += row.score;
    if (row.score > team.best) team.best = row.score;
    row.active = row.score > 500;
    row.rank = team.members;
  }
  let sum = 0;
  for (const name of Object.keys(teams)) sum += teams[name].score + teams[name].best;
  for (const row of rows) {
    if (!row.active) delete row.rank;
    sum += 'rank' in row ? row.rank : row.id;
  }
  return sum;
}

work(20000) + work(20001) + work(20002);
