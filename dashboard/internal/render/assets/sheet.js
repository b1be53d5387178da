// sheet.js: the dialog of keys.js: the list of the keys, and the palette that finds pages.
import { make } from "./parse.js";
import { isOff } from "./keys.js";

const sheet = document.body.appendChild(make("dialog", {}));
const pages = [...document.querySelectorAll(".rail a[data-key]")];
export function help() {
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

// palette finds pages by name at once. It requests schedules, queues, jobs and batches from the server after a short pause in typing.
export function palette() {
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
