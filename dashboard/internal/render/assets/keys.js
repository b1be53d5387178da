// keys.js: keyboard shortcuts. ? shows the keys, / moves to the search, f to the page's filter, ctrl-k opens the palette, j and k move through the rows, x ticks,
// a ticks all that match, p and t press the row's buttons, or those for the ticked rows, g and a letter opens a page. No key acts while a text is typed. A key that
// changes something asks for confirmation like its button. All keys without ctrl can be switched off, in the sheet or the palette.
import { make } from "./parse.js";

const sheet = document.body.appendChild(make("dialog", {}));
const pages = [...document.querySelectorAll(".rail a[data-key]")];
let row, before = "";

const rows = () => [...document.querySelectorAll("main table.list tbody tr")];
function walk(step) {
  const all = rows();
  row?.classList.remove("at");
  row = all[Math.max(0, Math.min(all.length - 1, row && all.includes(row) ? all.indexOf(row) + step : 0))];
  row?.classList.add("at");
  const link = row?.querySelector("a");
  (link ?? row)?.focus?.({ preventScroll: true });
  row?.scrollIntoView({ block: "nearest" });
}
// press presses the page's button for a key. In a list it presses the button for the ticked rows, and first ticks the row if none is ticked.
const verbs = { p: "pause", t: "trigger" };
function press(key) {
  const here = row?.isConnected && row, form = here ? here.closest("form") : document.querySelector("main form:has([data-bulk] :checked, tbody :checked)");
  const bulk = form?.querySelector(`[data-bulk] [value="${here ? here.dataset[key] : verbs[key]}"]`);
  if (!bulk) return (here || document.querySelector("main")).querySelector(`[data-key="${key}"]`)?.click();
  if (!form.querySelector("[data-bulk] :checked, tbody :checked")) here.querySelector('input[name="id"]').click();
  bulk.click();
}
// tickAll ticks all that match the filter of a list, or all its rows.
function tickAll() {
  const boxes = document.querySelectorAll('[data-bulk] [name="all"], [data-do="tick-all"]');
  boxes[0]?.click();
  row?.classList.remove("at");
  row = undefined;
}

const isOff = () => { try { return localStorage.getItem("chime-keys") === "off"; } catch { return false; } };
function help() {
  const keys = [["/", "search"], ["f", "filter of the page"], ["ctrl k", "find a page"], ["j k", "next and previous row"], ["enter", "open the row"], ["x", "tick the row"], ["a", "tick all"], ["p", "pause or resume"], ["t", "run now"],
    ...pages.map((page) => [`g ${page.dataset.key}`, page.querySelector("span").textContent]), ["esc", "close"]];
  const list = keys.flatMap(([key, does]) => [make("dt", {}, make("kbd", {}, key)), make("dd", {}, does)]);
  const close = make("button", {}, "Close");
  close.addEventListener("click", () => sheet.close());
  const off = make("button", {}, isOff() ? "Switch the keys on" : "Switch these keys off, except ctrl k");
  off.addEventListener("click", () => { localStorage.setItem("chime-keys", isOff() ? "on" : "off"); sheet.close(); });
  open("Keys", make("h2", {}, "Keys"), make("dl", { class: "keys" }, ...list), make("p", { class: "answers" }, off, close));
}

function open(label, ...content) {
  sheet.className = "";
  sheet.setAttribute("aria-label", label);
  sheet.replaceChildren(...content);
  if (!sheet.open) sheet.showModal();
}

// palette finds pages by name at once. It requests schedules, queues and jobs from the server after a short pause in typing.
function palette() {
  const field = make("input", { role: "combobox", "aria-label": "Find a page", "aria-controls": "palette-list", "aria-expanded": true, "aria-autocomplete": "list" });
  const list = make("ul", { id: "palette-list", role: "listbox", "aria-label": "Found" });
  let chosen = 0, asked = 0, timer;
  const draw = (found) => {
    chosen = 0;
    list.replaceChildren(...found.slice(0, 12).map(({ href, name, kind }, i) => make("li", { role: "presentation" },
      make("a", { role: "option", id: `palette-${i}`, href }, name, make("span", { class: "note" }, kind)))));
    choose(0);
  };
  const choose = (step) => {
    const links = [...list.querySelectorAll("a")];
    chosen = Math.max(0, Math.min(links.length - 1, chosen + step));
    links.forEach((link, i) => link.setAttribute("aria-selected", i === chosen));
    field.setAttribute("aria-activedescendant", links.length ? `palette-${chosen}` : "");
  };
  const near = () => pages.map((page) => ({ href: page.href, name: page.querySelector("span").textContent, kind: "page" })).concat({ href: "#keys", name: "Keys", kind: "help" })
    .filter((page) => page.name.toLowerCase().includes(field.value.trim().toLowerCase()));
  const far = async () => {
    const mine = ++asked, text = field.value.trim();
    if (!text) return;
    const answer = await fetch(`search?q=${encodeURIComponent(text)}`, { headers: { Accept: "application/json" } });
    if (!answer.ok || mine !== asked) return;
    const { items } = await answer.json();
    draw([...near(), ...items]);
  };
  field.addEventListener("input", () => {
    draw(near());
    clearTimeout(timer);
    timer = setTimeout(() => far().catch(() => {}), 150);
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") choose(1);
    else if (event.key === "ArrowUp") choose(-1);
    else if (event.key === "Enter") list.querySelector('[aria-selected="true"]')?.click();
    else return;
    event.preventDefault();
  });
  list.addEventListener("click", (event) => { if (event.target.closest('[href="#keys"]')) { event.preventDefault(); help(); } });
  open("Find a page", field, list);
  sheet.className = "palette";
  draw(near());
  field.focus();
}

document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key === "k") { event.preventDefault(); palette(); return; }
  if (event.ctrlKey || event.metaKey || event.altKey || isOff() || document.querySelector("dialog[open]") || event.target.matches("input:not([type=checkbox]), textarea, select")) return;
  const after = before;
  before = "";
  const page = after === "g" && pages.find((p) => p.dataset.key === event.key);
  if (page) { page.click(); return; }
  const acts = {
    "?": help, "/": () => document.getElementById("search").focus(), f: () => document.querySelector("main .filters input:not([type=hidden]), main .filter input")?.focus(), a: tickAll, j: () => walk(1), k: () => walk(-1), g: () => { before = "g"; },
    x: () => row?.querySelector('input[name="id"]')?.click(), p: () => press("p"), t: () => press("t"),
  };
  if (!acts[event.key]) return;
  event.preventDefault();
  acts[event.key]();
});
