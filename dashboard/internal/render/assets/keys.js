// keys.js: keyboard shortcuts. ? shows the keys, / moves to the search, f to the page's filter, ctrl-k opens the palette, j and k move through the rows, x ticks,
// a ticks all that match, p and t press the row's buttons, or those for the ticked rows, g and a letter opens a page. No key acts while a text is typed. A key that
// changes something asks for confirmation like its button. All keys without ctrl can be switched off.
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
  document.querySelector('[data-bulk] [name="all"], [data-do="tick-all"]')?.click();
  row?.classList.remove("at");
  row = undefined;
}
export const isOff = () => { try { return localStorage.getItem("chime-keys") === "off"; } catch { return false; } };
// sheet shows the list of keys, or the palette. Their script is loaded when it is first needed.
const sheet = async (which) => (await import("./sheet.js"))[which]();
document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key === "k") { event.preventDefault(); sheet("palette"); return; }
  if (event.ctrlKey || event.metaKey || event.altKey || isOff() || document.querySelector("dialog[open]") || event.target.matches("input:not([type=checkbox]), textarea, select")) return;
  const after = before;
  before = "";
  const page = after === "g" && pages.find((p) => p.dataset.key === event.key);
  if (page) { page.click(); return; }
  const acts = {
    "?": () => sheet("help"), "/": () => document.getElementById("search").focus(), f: () => document.querySelector("main .filters input:not([type=hidden]), main .filter input")?.focus(), a: tickAll, j: () => walk(1), k: () => walk(-1), g: () => { before = "g"; },
    x: () => row?.querySelector('input[name="id"]')?.click(), p: () => press("p"), t: () => press("t"),
  };
  if (!acts[event.key]) return;
  event.preventDefault();
  acts[event.key]();
});
