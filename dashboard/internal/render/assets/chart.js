// chart.js: one crosshair in all charts of a page. When the pointer is in a chart, every chart shows a line at the same instant, and its values below
// the picture.
const charts = () => [...document.querySelectorAll("svg.chart[data-plot][data-from]")];
const units = {
  count: (v) => Math.round(v).toLocaleString("en"),
  seconds: chimeTime.span,
};

function values(chart, at) {
  const say = units[chart.dataset.unit] ?? ((v) => (v < 10 ? Number(v.toFixed(1)) : units.count(v)) + chart.dataset.unit), from = Number(chart.dataset.from);
  if (chart.dataset.step) {
    const v = JSON.parse(chart.dataset.v)[Math.floor((at - from) / Number(chart.dataset.step))];
    return v == null ? [] : [say(v)];
  }
  const times = JSON.parse(chart.dataset.t ?? "[]"), second = (at - from) / 1000;
  const nearest = times.reduce((best, t, i) => (Math.abs(t - second) < Math.abs(times[best] - second) ? i : best), 0);
  return [...chart.querySelectorAll("[data-name][data-v]")].map((line) => {
    const v = JSON.parse(line.dataset.v)[nearest];
    return `${line.dataset.name} ${v == null ? "–" : say(v)}`;
  });
}

// point draws the crosshair at an instant, or removes it without one.
function point(at) {
  for (const chart of charts()) {
    const [left, top, right, bottom] = chart.dataset.plot.split(" ").map(Number), from = Number(chart.dataset.from), to = Number(chart.dataset.to);
    const inside = at >= from && at <= to, x = left + (right - left) * (at - from) / (to - from);
    chart.querySelector(".cross")?.setAttribute("d", inside ? `M${x.toFixed(1)} ${top}V${bottom}` : "");
    const reading = chart.closest("figure")?.querySelector("[data-reading]");
    if (reading) reading.textContent = inside ? `${chimeTime.text(new Date(at), "at")}: ${values(chart, at).join(", ")}` : "";
  }
}

document.addEventListener("pointermove", (event) => {
  const chart = event.target.closest?.("svg.chart[data-plot][data-from]");
  if (!chart) { if (document.querySelector('.cross[d^="M"]')) point(NaN); return; }
  const box = chart.getBoundingClientRect(), [left, , right] = chart.dataset.plot.split(" ").map(Number);
  const share = ((event.clientX - box.left) / box.width * chart.viewBox.baseVal.width - left) / (right - left);
  if (share < 0 || share > 1) return point(NaN);
  point(Number(chart.dataset.from) + share * (Number(chart.dataset.to) - Number(chart.dataset.from)));
});
