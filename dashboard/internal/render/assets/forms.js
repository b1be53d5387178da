// forms.js: improves forms. A confirmation opens as a dialog on the same page; a tick in the head ticks all rows; the bar of a list counts the ticked
// rows. Without scripts each confirmation is a separate page.
import { make, parse } from "./parse.js";

const dialog = document.body.appendChild(make("dialog", { "aria-labelledby": "ask-title" }));
let direct = false; // the next form is sent as without a script
let busy = false; // a form is being sent: a second click does not send it again
addEventListener("pageshow", () => { busy = false; });

// ask sends a form without sure=1 and shows the confirmation of the response. Other responses are opened as pages.
async function ask(form, button) {
  const body = new URLSearchParams(new FormData(form, button));
  const answer = await fetch(chimeTime.mine(button?.hasAttribute("formaction") ? button.formAction : form.action), { method: "POST", body, headers: { "Chime-Part": "ask" } });
  if (answer.redirected) return location.assign(answer.url);
  const question = parse(await answer.text()).querySelector(".ask, .failure");
  if (!question) return location.reload();
  busy = false;
  dialog.replaceChildren(document.importNode(question, true));
  if (!dialog.open) dialog.showModal();
  dialog.querySelector("[autofocus]")?.focus();
  check();
}

// check enables the button of a confirmation when the required text has been typed.
function check() {
  const fields = [...dialog.querySelectorAll("[data-exactly]")];
  const button = dialog.querySelector("button.primary");
  if (button && fields.length) button.disabled = fields.some((field) => field.value !== field.dataset.exactly);
}

document.addEventListener("submit", (event) => {
  const form = event.target, button = event.submitter;
  if (direct || form.method !== "post" || !(dialog.contains(form) || "ask" in form.dataset || button?.closest("[data-bulk], [data-ask]"))) return;
  event.preventDefault();
  if (busy) return;
  busy = true;
  ask(form, button).catch(() => { direct = true; form.requestSubmit(button); });
});
dialog.addEventListener("input", check);
document.addEventListener("click", (event) => {
  if (event.target.closest('dialog [data-do="cancel"]')) { event.preventDefault(); dialog.close(); }
  if (event.target.closest('[data-do="theme"]')) {
    const dark = matchMedia("(prefers-color-scheme: dark)").matches, root = document.documentElement;
    root.dataset.theme = (root.dataset.theme ?? (dark ? "dark" : "light")) === "dark" ? "light" : "dark";
    // Storage may be forbidden. The choice is then for this page only.
    try { localStorage.setItem("chime-theme", root.dataset.theme); } catch {}
  }
});

// A menu closes with Escape, and with a click inside or outside it.
for (const type of ["click", "keydown"]) document.addEventListener(type, ({ key, target }) => {
  const menu = document.querySelector(".menu-more[open]");
  if (menu && (key ? key === "Escape" : !target.closest("summary"))) menu.open = false;
});

const boxes = (form) => [...form.querySelectorAll('tbody input[type="checkbox"][name="id"]')];
function countTicks() {
  for (const bar of document.querySelectorAll("[data-bulk]")) {
    const all = boxes(bar.closest("form")), n = all.filter((box) => box.checked).length, every = bar.querySelector('input[name="all"]')?.checked;
    for (const button of bar.querySelectorAll("button")) button.disabled = !n && !every || document.body.classList.contains("stale");
    bar.querySelector("[data-ticked]").textContent = every ? "" : n;
    const head = bar.closest("form").querySelector('[data-do="tick-all"]');
    if (head) { head.hidden = false; head.checked = n > 0 && n === all.length; head.indeterminate = n > 0 && n < all.length; }
  }
}
// With shift, a tick also ticks the rows since the last tick.
let last, shift = false;
document.addEventListener("click", (event) => { shift = event.shiftKey; }, true);
document.addEventListener("change", ({ target }) => {
  const all = target.form ? boxes(target.form) : [], here = all.indexOf(target), from = all.indexOf(last);
  if (target.matches('[data-do="tick-all"]')) for (const box of all) box.checked = target.checked;
  if (shift && here >= 0 && from >= 0) for (const box of all.slice(Math.min(here, from), Math.max(here, from))) box.checked = target.checked;
  if (here >= 0) last = target;
  countTicks();
});
document.addEventListener("chime:updated", countTicks);
for (const button of document.querySelectorAll('[data-do="theme"]')) button.hidden = false;
countTicks();
