/* workers.c: jobs go through the workers fairly, come back on their lists, can be withdrawn, and survive a fork. */
#define _GNU_SOURCE
#include "check.h"
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

enum { JOBS = 40 };

static const char LONG_LOOP[] = "let s = 0; for (let i = 0; i < 300000; i++) s = (s * 31 + i) % 1000003; s";

static mb_job *wait_for_job(mb_completions *completions) {
  struct pollfd file = { .fd = mb_completions_file(completions), .events = POLLIN };
  poll(&file, 1, 30000);
  return mb_job_take(completions);
}

static mb_completions *new_completions(void) {
  mb_completions *completions;
  if (mb_completions_new(&completions))
    abort();
  return completions;
}

static void submit(mb_job *job, mb_engine *engine, mb_completions *completions, const char *source) {
  mb_program program = program_of(source);
  *job = (mb_job){ .run = new_run(engine, &program), .completions = completions, .owner = job };
  CHECK(mb_job_submit(job) == MB_OK);
}

static void all_come_back(mb_engine *engine) {
  mb_completions *completions = new_completions();
  mb_job jobs[JOBS];
  for (int i = 0; i < JOBS; i++)
    submit(&jobs[i], engine, completions, LONG_LOOP);
  mb_view first = { 0 };
  for (int i = 0; i < JOBS; i++) {
    mb_job *job = wait_for_job(completions);
    CHECK(job && job->owner == job && job->status == MB_DONE);
    mb_view result = mb_run_result(job->run);
    if (!i)
      first = result;
    CHECK(result.size == first.size && !memcmp(result.data, first.data, first.size));
  }
  CHECK(!mb_job_take(completions) && mb_jobs_under_way() == 0);
  for (int i = 0; i < JOBS; i++)
    mb_run_free(jobs[i].run);
  mb_completions_free(completions);
}

/* A short job behind many endless ones is through soon: they are stepped in turn. */
static void short_jobs_overtake(mb_engine *engine) {
  mb_completions *completions = new_completions();
  mb_job endless[JOBS], brief;
  for (int i = 0; i < JOBS; i++)
    submit(&endless[i], engine, completions, "while (true);");
  submit(&brief, engine, completions, "1");
  CHECK(wait_for_job(completions) == &brief);
  CHECK(mb_jobs_under_way() == JOBS);
  for (int i = 0; i < JOBS; i++) {
    mb_run_abort(endless[i].run);
    if (i % 2)
      mb_job_withdraw(&endless[i]);
  }
  for (int i = 0; i < JOBS / 2; i++) {
    mb_job *job = wait_for_job(completions);
    CHECK(job && job->status == MB_LIMIT && mb_run_limit(job->run) == MB_LIMIT_ABORTED);
  }
  CHECK(!mb_job_take(completions) && mb_jobs_under_way() == 0);
  for (int i = 0; i < JOBS; i++)
    mb_run_free(endless[i].run);
  mb_run_free(brief.run);
  mb_completions_free(completions);
}

static void withdrawn_in_any_state(mb_engine *engine) {
  mb_completions *completions = new_completions();
  for (int i = 0; i < 200; i++) {
    mb_job job;
    submit(&job, engine, completions, i % 2 ? "1" : LONG_LOOP);
    if (i % 3)
      usleep((useconds_t)(i * 7 % 1500));
    mb_job_withdraw(&job);
    mb_job_withdraw(&job);
    while (mb_run_step(job.run, 0) == MB_YIELDED)
      ;
    CHECK(mb_run_step(job.run, 0) == MB_DONE);
    mb_run_free(job.run);
  }
  CHECK(!mb_job_take(completions));
  mb_completions_free(completions);
}

static void stopped_workers_start_again(mb_engine *engine) {
  mb_completions *completions = new_completions();
  mb_job job;
  mb_workers_stop();
  submit(&job, engine, completions, "1");
  CHECK(wait_for_job(completions) == &job);
  mb_run_free(job.run);
  mb_completions_free(completions);
}

/* In the child the jobs are withdrawn, and can be stepped to their ends; it has workers of its own. */
#ifndef __SANITIZE_THREAD__
static void jobs_survive_a_fork(mb_engine *engine) {
  mb_completions *completions = new_completions();
  mb_job jobs[8], more;
  for (int i = 0; i < 8; i++)
    submit(&jobs[i], engine, completions, LONG_LOOP);
  usleep(1000);
  pid_t child = fork();
  if (!child) {
    mb_completions *own = new_completions();
    submit(&more, engine, own, "1");
    bool ok = wait_for_job(own) == &more;
    for (int i = 0; i < 8; i++)
      mb_job_withdraw(&jobs[i]);
    for (int i = 0; i < 8; i++)
      ok = ok && mb_run_step(jobs[i].run, 0) == MB_DONE;
    _exit(!ok);
  }
  int status;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  for (int i = 0; i < 8; i++)
    CHECK(wait_for_job(completions) && !checks_failed);
  for (int i = 0; i < 8; i++)
    mb_run_free(jobs[i].run);
  mb_completions_free(completions);
}
#endif

int main(void) {
  mb_engine *engine = new_engine(MB_MEMORY_ANY);
  all_come_back(engine);
  short_jobs_overtake(engine);
  withdrawn_in_any_state(engine);
  stopped_workers_start_again(engine);
#ifndef __SANITIZE_THREAD__ /* it refuses threads in the child of a process that had some */
  jobs_survive_a_fork(engine);
#endif
  mb_workers_stop();
  mb_engine_free(engine);
  return checks_done();
}
