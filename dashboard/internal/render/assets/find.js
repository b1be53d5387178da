// find.js: writes the instants of the fields From and To into the filter, on the clock of the page, and copies the link to a view.
const filter = document.querySelector("#filter");
const zone = new URL(chimeTime.mine("")).searchParams.get("own");
const shown = new Intl.DateTimeFormat("sv", { timeZone: zone, dateStyle: "short", timeStyle: "medium" });
const clock = (t) => Date.parse(shown.format(t).replace(" ", "T") + "Z");
const two = (n) => String(Math.floor(n)).padStart(2, "0");
document.addEventListener("change", ({ target: { dataset: { term }, value } }) => {
  if (!term) return;
  const want = Date.parse(value + "Z");
  let t = want;
  for (let i = 0; value && i < 2; i++) t += want - clock(t); // the offset of the zone at that time
  const off = (want - t) / 6e4, offset = (off < 0 ? "-" : "+") + two(Math.abs(off) / 60) + ":" + two(Math.abs(off) % 60);
  const rest = filter.value.replace(new RegExp(`(^|\\s)${term}:("[^"]*"|\\S*)`), "");
  filter.value = (rest + (value && ` ${term}:${value.length > 16 ? value : value + ":00"}${offset}`)).trim();
});
document.addEventListener("click", (event) => {
  const link = event.target.closest('[data-do="copy"]');
  if (!link || !navigator.clipboard) return; // the link opens, and the address bar has the address to copy
  event.preventDefault();
  const url = new URL(link.href);
  url.searchParams.set("zone", zone);
  navigator.clipboard.writeText(url.href).then(() => { link.textContent = "Copied"; }, () => location.assign(url));
});
for (const field of document.querySelectorAll("[data-term]")) field.closest("[hidden]")?.removeAttribute("hidden");
