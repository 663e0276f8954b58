// strings built by concatenation and templates, read by character = 826444
function work(size) {
  let text = '';
  for (let i = 0; i < size; i++) text += i % 3 === 0 ? `<li>${i}</li>` : String.fromCharCode(97 + (i % 26));
  let hash = 0;
  for (let i = 0; i < text.length; i++) hash = (hash * 31 + text.charCodeAt(i)) % 1000003;
  let vowels = 0;
  for (const character of text) if ('aeiou'.includes(character)) vowels++;
  return hash + vowels + text.length;
}

work(100000);
