// preview.js: previews the definition in the editor during typing. The server computes it after a short pause in typing, and only the response to the
// last input is used. It is shown below the form, and errors are shown at their fields. Typed text and focus are kept.
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

// mark shows the error of each field, or its hint.
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
  let text = "The preview cannot be shown, because the server does not respond.";
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
