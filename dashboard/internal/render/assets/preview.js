// preview.js: shows what the definition in the editor does while it is typed. The server computes it when nothing was typed for a moment; the answer
// to what was typed last wins. It is shown below the form and beside fields that are wrong; what is typed, and the focus, stay as they are.
import { make, parse } from "./parse.js";
import { say } from "./live.js";

const form = document.getElementById("editor"), shown = document.getElementById("preview");
const pause = 300, again = 1000;
let timer, asked;

function show(content) {
  Idiomorph.morph(shown, content, { morphStyle: "innerHTML" });
  mark();
  say([...shown.querySelectorAll(".words, .banner")].map((part) => part.textContent.trim()).join(". "));
}

// mark shows beside each field what is wrong with it, or its hint.
function mark() {
  const wrong = new Map([...shown.querySelectorAll("[data-field]")].map((part) => [part.dataset.field, part.dataset.text]));
  for (const hint of form.querySelectorAll("[data-hint]")) {
    const field = form.querySelector(`[aria-describedby="${CSS.escape(hint.id)}"]`), text = wrong.get(field.name);
    hint.textContent = text ?? hint.dataset.hint;
    hint.className = text ? "wrong" : "note";
    text ? field.setAttribute("aria-invalid", "true") : field.removeAttribute("aria-invalid");
    if (text) field.closest("details:not([open])")?.setAttribute("open", "");
  }
}

async function preview() {
  clearTimeout(timer);
  asked?.abort();
  const mine = asked = new AbortController();
  let text = "The preview cannot be shown: the server does not answer.";
  try {
    const body = new URLSearchParams(new FormData(form));
    const answer = await fetch(chimeTime.mine(shown.dataset.from), { method: "POST", body, signal: mine.signal });
    const doc = parse(await answer.text());
    if (mine !== asked) return;
    if (answer.status === 429) { timer = setTimeout(preview, again); return; }
    if (answer.ok) return show([...doc.body.childNodes]);
    text = doc.querySelector(".failure p:not(.status)")?.textContent ?? text;
  } catch {
    if (mine !== asked) return;
  }
  show([make("p", { class: "banner fail" }, text)]);
}

form.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(preview, pause);
});
form.addEventListener("submit", (event) => {
  if (event.submitter?.value !== "preview") return;
  event.preventDefault();
  preview();
});
if (!shown.firstElementChild) preview();
