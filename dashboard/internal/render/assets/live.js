// live.js: updates an open page. The stream of the page sends the inner HTML of changed regions. They are morphed, so focus, typed text, ticks and
// open details are kept. Rows of a table with data-rows do not jump: added and removed rows wait behind a button.
import { make, parse } from "./parse.js";

const root = document.documentElement, { body } = document, byID = (id) => document.getElementById(id);
const dot = byID("live"), said = byID("said");
const waiting = new Map(); // region → its latest content, with rows that are held back
let stream, every = 2e3, beat = Date.now(), trouble, full, outdated = false, wanted = false, lastSaid = 0, saying;

// say sends a text to screen readers, at most once in ten seconds. If there are several texts within that time, the last one is used.
export function say(text, urgent) {
  clearTimeout(saying);
  saying = setTimeout(() => {
    lastSaid = Date.now();
    said.textContent = text;
  }, urgent ? 0 : lastSaid + 10000 - Date.now());
}

const find = (within, id) => within.querySelector(`#${CSS.escape(id)}`);

// keep copies the viewer's input from a region to its new content.
function keep(region, fresh) {
  for (const field of region.querySelectorAll("input, textarea, select")) {
    const value = field.type === "checkbox" ? `[value="${CSS.escape(field.value)}"]` : "";
    const same = field.id ? find(fresh, field.id) : fresh.querySelector(`[name="${CSS.escape(field.name)}"]${value}`);
    if (!same) continue;
    if (field.type === "checkbox") same.toggleAttribute("checked", field.checked);
    else if (field.localName === "select") for (const option of same.options) option.toggleAttribute("selected", option.value === field.value);
    else if (field.localName === "textarea") same.textContent = field.value;
    else if (field.value !== field.defaultValue) same.setAttribute("value", field.value);
  }
  for (const details of region.querySelectorAll("details[id]")) find(fresh, details.id)?.toggleAttribute("open", details.open);
}

// hold keeps the rows of a table: their texts change, but no row is added, removed or moved. It returns a text about the changes that wait.
function hold(table, fresh) {
  const body = table.tBodies[0], freshBody = fresh.tBodies[0];
  const coming = new Map([...freshBody.rows].map((row) => [row.id, row]));
  let gone = 0;
  const rows = [...body.rows].map((row) => {
    const same = coming.get(row.id);
    coming.delete(row.id);
    if (same) return same;
    gone++;
    const left = fresh.ownerDocument.importNode(row, true);
    left.classList.add("gone");
    left.title = "It is no longer in this list";
    return left;
  });
  freshBody.replaceChildren(...rows);
  return [coming.size && `${coming.size} new`, gone && `${gone} gone`].filter(Boolean).join(", ");
}

// shown shows the content of regions that was hidden until it was drawn in the viewer's zone. Without a stream it is in the server's zone, and names it.
function shown(regions = document.querySelectorAll("[data-redraw]")) {
  for (const region of regions) delete region.dataset.redraw;
}
setTimeout(shown, 5e3);

// update morphs a region. all: it also shows the rows that wait.
function update(region, html, all) {
  const doc = parse(html), fresh = doc.body;
  const texts = [];
  if (!all) {
    for (const table of region.querySelectorAll("table[data-rows]")) {
      const same = find(fresh, table.id);
      const text = same?.tBodies[0] && table.tBodies[0]?.rows.length ? hold(table, same) : "";
      if (text) texts.push(text);
    }
  }
  keep(region, fresh);
  if (texts.length) {
    const text = texts.join("; ");
    fresh.prepend(make("p", { class: "waiting", id: `${region.id}-waiting` }, make("button", { type: "button", "data-do": "show-waiting" }, text)));
    waiting.set(region.id, html);
    say(text);
  } else waiting.delete(region.id);
  const before = new Set([...region.querySelectorAll("tbody tr")].map((row) => row.id)), drawn = "redraw" in region.dataset;
  Idiomorph.morph(region, [...fresh.childNodes], { morphStyle: "innerHTML", ignoreActiveValue: true });
  // Only new rows are tinted: figures change all the time.
  for (const row of drawn || !before.size ? [] : region.querySelectorAll("tbody tr[id]")) {
    if (before.has(row.id)) continue;
    row.classList.add("changed");
    setTimeout(() => row.classList.remove("changed"), 2e3);
  }
  shown([region]);
  region.dispatchEvent(new CustomEvent("chime:updated", { bubbles: true }));
}

// warn shows why the page is not up to date.
function warn(id, text) {
  shown();
  let banner = byID(id);
  if (!banner) {
    banner = make("p", { id, class: "banner fail" });
    byID("banners").prepend(banner);
    say(text, true);
  }
  banner.textContent = text;
}

function ends(text, since) {
  trouble = { text, since };
  body.classList.add("stale");
  warn("trouble", text);
  actions(false);
  drawDot();
}

function recovers() {
  if (!body.classList.contains("stale")) return;
  trouble = undefined;
  body.classList.remove("stale");
  byID("trouble")?.remove();
  actions(true);
  say("This page is live again.", true);
}

// actions enables or disables the buttons of POST forms. Buttons that were disabled before remain disabled.
function actions(on) {
  for (const button of document.querySelectorAll('main form[method=post] button:not([type=button])')) {
    if (on ? "whenLive" in button.dataset : !button.disabled) {
      button.disabled = !on;
      button.toggleAttribute("data-when-live", !on);
    }
  }
  document.dispatchEvent(new Event("chime:updated"));
}

function drawDot() {
  const age = Date.now() - beat;
  if (wanted && age > 5 * every && !trouble && !full) return ends("No answer from the server of this page: the figures are old. It is tried again.", chimeTime.now() - age);
  const stale = full || trouble || age > 3 * every;
  dot.dataset.state = stale ? "stale" : "on";
  dot.lastElementChild.textContent = full ? "not live" : stale ? `stale since ${chimeTime.text(new Date(trouble?.since ?? chimeTime.now() - age), "clock")}` : `live ${Math.round(every / 1e3)}s`;
}

function open() {
  if (stream || document.hidden || !body.dataset.events) return;
  if (!wanted) beat = Date.now();
  wanted = true;
  stream = new EventSource(chimeTime.mine(body.dataset.events));
  const on = (name, does) => stream.addEventListener(name, (event) => {
    const data = JSON.parse(event.data);
    if (data.now) chimeTime.set(data.now);
    does(data);
  });
  on("hello", (data) => {
    full = undefined;
    byID("full")?.remove();
    every = data.every ?? every;
    beat = Date.now();
    outdated = Boolean(data.version && data.version !== root.dataset.version);
    drawDot();
  });
  on("beat", (data) => {
    beat = Date.now();
    for (const [page, n] of Object.entries(data.counts ?? {})) {
      for (const count of document.querySelectorAll(`[data-count="${CSS.escape(page)}"]`)) count.textContent = n ? n.toLocaleString("en") : "";
    }
    recovers();
    drawDot();
    reloadWhenIdle();
  });
  on("region", ({ id, html }) => {
    const region = byID(id);
    byID("broken")?.remove();
    if (region) update(region, html);
  });
  on("broken", ({ text }) => warn("broken", `This page is not being updated: ${text}.`));
  on("full", ({ text }) => {
    full = text;
    close();
    warn("full", full);
    drawDot();
    setTimeout(open, 1e4);
  });
  on("trouble", ({ text, since }) => ends(text, since));
  // If the response is not a stream, the connection is closed, and the browser does not try again.
  stream.onerror = () => {
    if (stream?.readyState === 2) { stream = undefined; setTimeout(open, 5e3); }
  };
}

function close() {
  stream?.close();
  stream = undefined;
  wanted = false;
}

// A page of another release is reloaded when this loses no input.
function reloadWhenIdle() {
  const busy = document.querySelector("dialog[open], main input:checked") || document.activeElement?.matches("input, textarea, select");
  if (outdated && !busy) location.reload();
}

document.addEventListener("click", (event) => {
  if (!event.target.closest('[data-do="show-waiting"]')) return;
  const region = event.target.closest("[data-live]");
  if (waiting.has(region.id)) update(region, waiting.get(region.id), true);
});
document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
addEventListener("pagehide", close);
addEventListener("pageshow", open);
if (body.dataset.events) setInterval(() => document.hidden || drawDot(), 1e3);
