// Draws trends with uPlot: what an element has in data-ojs-trend, or a line alone in data-ojs-spark.
"use strict";

const HEIGHT = 180; // the legend stands below
const TONES = ["--red", "--amber", "--violet", "--blue", "--green"];

function tone(name) {
  // a colour that differs by scheme is only resolved where it is used
  const probe = document.body.appendChild(document.createElement("i"));
  probe.style.color = `var(${name})`;
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

function trend(place) {
  const told = JSON.parse(place.dataset.ojsTrend);
  const quiet = tone("--quiet");
  const line = tone("--line");
  const axis = { stroke: quiet, grid: { stroke: line, width: 1 }, ticks: { stroke: line } };
  const bars = uPlot.paths.bars({ size: [0.8, 40] });
  const isOne = told.lines.length === 1;
  return new uPlot({
    width: place.clientWidth,
    height: HEIGHT,
    cursor: { drag: { x: false, y: false } },
    scales: { y: { range: (_, __, most) => [0, Math.max(1, most)] } },
    axes: [axis, { ...axis, size: 46, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000] }],
    series: [{}, ...told.lines.map((one, n) => ({
      label: one.label,
      stroke: tone(TONES[n]),
      fill: isOne ? tone(TONES[n]) : undefined,
      width: isOne ? 0 : 2,
      paths: isOne ? bars : undefined,
      points: { show: false },
    }))],
  }, [told.at, ...told.lines.map((one) => one.jobs)], place);
}

function spark(place) {
  const values = JSON.parse(place.dataset.ojsSpark);
  return new uPlot({
    width: place.clientWidth,
    height: place.clientHeight,
    cursor: { show: false },
    legend: { show: false },
    scales: { x: { time: false }, y: { range: (_, __, most) => [0, Math.max(1, most)] } },
    axes: [{ show: false }, { show: false }],
    series: [{}, { stroke: tone(place.dataset.ojsTone || "--red"), width: 1.5, points: { show: false } }],
  }, [values.map((_, n) => n), values], place);
}

let drawn = [];
function draw() {
  drawn.forEach((one) => one.destroy());
  drawn = [
    ...[...document.querySelectorAll("[data-ojs-trend]")].map(trend),
    ...[...document.querySelectorAll("[data-ojs-spark]")].map(spark),
  ];
}

draw();
document.addEventListener("ojs:fresh", draw); // what was live is other elements now
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
let waiting = 0;
window.addEventListener("resize", () => {
  window.clearTimeout(waiting);
  waiting = window.setTimeout(draw, 150);
});
