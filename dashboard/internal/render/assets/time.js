// time.js: shows times in the browser's zone before they are drawn, unless the address names a zone, and updates relative times by the store's clock.
// The texts have the same format as on the server (times.go and internal/format). Other scripts call chimeTime.show after they have changed the page.
const chimeTime = (() => {
  const root = document.documentElement;
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const zone = "zoneFixed" in root.dataset || !own ? root.dataset.zone : own;
  let ahead = Number(root.dataset.now) - Date.now(); // lead of the store's clock over this one
  const now = () => Date.now() + ahead;

  const fields = new Intl.DateTimeFormat("en-US", {
    timeZone: zone, weekday: "short", day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23",
  });
  const part = (f, date, type) => f.formatToParts(date).find((p) => p.type === type).value;
  const parts = (date) => Object.fromEntries(fields.formatToParts(date).map((p) => [p.type, p.value]));

  // The abbreviation of a zone's clock: CET, or the offset if English has none: +0545. Each English locale has the names of its own continent.
  const names = ["en-GB", "en-US", "en-CA", "en-AU", "en-IN", "en-NZ"].map((l) => new Intl.DateTimeFormat(l, { timeZone: zone, timeZoneName: "short" }));
  const offset = new Intl.DateTimeFormat("en-GB", { timeZone: zone, timeZoneName: "longOffset" });
  function zoneName(date) {
    for (const f of names) {
      const name = part(f, date, "timeZoneName");
      if (!/^(GMT|UTC)[+-−]/.test(name)) return name;
    }
    return part(offset, date, "timeZoneName").replace(/GMT|:00$/g, "").replace("−", "-").replace(":", "");
  }

  const clock = (p, date) => `${p.hour}:${p.minute}:${p.second} ${zoneName(date)}`;
  const day = (p) => `${p.day} ${p.month}${p.year === part(fields, new Date(now()), "year") ? "" : " " + p.year}`;
  // span, age and away are those of internal/format.
  function span(sec) {
    const us = Math.round(sec * 1e6), all = [];
    if (us < 1e3) return us > 0 ? us + "µs" : "<1ms";
    if (us < 1e6) return Math.floor(us / 1e3) + "ms";
    if (us < 1e7) return Math.floor(us / 1e5) / 10 + "s";
    for (const [name, size] of [["d", 86400], ["h", 3600], ["m", 60], ["s", 1]]) {
      const n = Math.floor(sec / size), second = all[0];
      sec %= size;
      if (n) all.push(n.toLocaleString("en") + name);
      if (second) break;
    }
    return all.join(" ");
  }
  const age = (ms) => (ms < 1e3 ? "<1s" : span(Math.floor(ms / 1e3)));
  const away = (ms) => (Math.abs(ms) < 1e3 ? "now" : ms < 0 ? age(-ms) + " ago" : "in " + age(ms));
  function text(date, show) {
    if (show === "rel") return away(date - now());
    const p = parts(date);
    if (show === "clock") return clock(p, date);
    if (show === "day") return `${p.weekday} ${day(p)}`;
    return `${day(p)} ${clock(p, date)}`;
  }
  function show(within, which = "time[data-show]") {
    for (const time of within.querySelectorAll(which)) {
      const date = new Date(time.dateTime);
      const shown = "for" in time.dataset ? age(now() - date) : text(date, time.dataset.show);
      if (time.textContent !== shown) time.textContent = shown;
      if (zone !== "UTC" && !("own" in time.dataset)) { // the title shows the page's zone, in addition to UTC and the schedule's zone
        time.dataset.own = "";
        time.title += `, ${text(date, "at")}`;
      }
    }
    for (const note of within.querySelectorAll("[data-zone-note]")) note.hidden = note.textContent === zone;
  }

  // mine is an address with the zone of this page.
  function mine(address) {
    const url = new URL(address, document.baseURI);
    url.searchParams.set("own", zone);
    return url.href;
  }

  show(document);
  const field = document.querySelector(".zone input[list]");
  if (field) {
    field.placeholder = zone;
    field.list.prepend(new Option("", own ?? zone));
  }
  // Charts and days are drawn by the server in its own zone, until the stream sends them in this zone. Then live.js shows them.
  if (zone !== root.dataset.zone && document.body.dataset.events) for (const region of document.querySelectorAll("[data-live]")) region.dataset.redraw = "";
  setInterval(() => document.hidden || show(document, 'time[data-show="rel"]'), 1e3);
  return { show, now, text, span, mine, set: (ms) => { ahead = ms - Date.now(); } };
})();
