// Draws what carries its numbers as JSON with uPlot: charts over time (data-values), before and after
// (data-ojs-compared), trends (data-ojs-trend), and lines alone (data-ojs-spark).
"use strict";

(() => {
  const TREND_HEIGHT = 180; // the legend stands below
  const TONES = ["red", "amber", "violet", "blue", "green"];
  const NAME_WIDTH = 140; // at most, of names beside bars
  const CHARACTER = 7.5; // about the pixels of one
  const drawn = new Map(); // by the element that was drawn into

  // light-dark() is resolved on an element only, not in the text of a property
  function tone(name, place = document.body) {
    const probe = place.appendChild(document.createElement("i"));
    probe.style.color = `var(--${name})`;
    const found = getComputedStyle(probe).color;
    probe.remove();
    return found;
  }

  function axis() {
    const line = tone("line");
    return { stroke: tone("quiet"), grid: { stroke: line, width: 1 }, ticks: { show: false } };
  }

  const DAY_S = 86_400;
  const {
    amount, axisOfTime, axisOfValues, dateOf, marks, marksAt, msSteps, named, parted, picking, shown: clock, span, unfinished,
  } = window.ojsTimes;

  // with the day where the times are of several
  function clockOf(times) {
    const time = { hour: "2-digit", minute: "2-digit" };
    const isLong = times.at(-1) - times[0] > DAY_S;
    return (seconds) => clock(seconds, isLong ? { day: "numeric", month: "short", ...time } : time);
  }

  function share(part) {
    return `${(100 * part).toFixed(1)} %`;
  }

  // what is under the pointer, in words
  function tip(named, series, shown = (value) => value) {
    const box = document.createElement("div");
    box.className = "tip";
    box.hidden = true;
    return {
      hooks: {
        init: (u) => u.over.append(box),
        setCursor: (u) => {
          const { idx, left, top } = u.cursor;
          box.hidden = idx == null || left < 0;
          if (box.hidden) return;
          const value = (one) => (one.values[idx] == null ? "–" : shown(one.values[idx]));
          box.textContent = [named(idx), ...series.map((one) => `${one.label} ${value(one)}`)].join(" · ");
          const most = u.over.clientWidth - box.offsetWidth;
          box.style.left = `${Math.max(0, Math.min(left + 8, most))}px`;
          box.style.top = u.scales.x.ori ? `${Math.min(top + 14, u.over.clientHeight - box.offsetHeight)}px` : "0";
        },
      },
    };
  }

  const still = { y: false, drag: { x: false, y: false } };

  const SHARE_STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5];
  const LETTERS_HEIGHT = 16; // of the marks, above the plot
  const MARK_TONES = { deployed: "violet", paused: "amber", resumed: "green", changed: "blue" };

  function overTime(figure, plot, data) {
    const unit = data.unit === "ms" ? span : amount;
    const say = (n) => {
      const values = data.series.map((one) => `${one.label} ${one.values[n] == null ? "–" : unit(one.values[n])}`);
      const step = n === data.at.length - 1 ? `${named(data, n)} so far` : named(data, n);
      return [step, ...values, ...marksAt(data, n)].join(" · ");
    };
    const toneOf = (kind) => tone(MARK_TONES[kind]);
    const lines = data.series.flatMap((one) => parted(one.values).map((values, n) => ({ ...one, values, dash: n ? [4, 3] : undefined })));
    return new window.uPlot({
      width: plot.clientWidth,
      height: plot.clientHeight,
      legend: { show: false },
      cursor: { y: false, drag: { x: true, y: false, setScale: false } },
      tzDate: dateOf(data),
      padding: [data.marks.length ? LETTERS_HEIGHT : null, null, null, null],
      plugins: [tip(say, []), unfinished(data, tone("quiet")), marks(data, toneOf), picking(figure, plot, data, say)],
      scales: {
        x: { range: [data.at[0], data.at.at(-1) + data.step] },
        y: { range: (u, low, high) => [0, Math.max(1, high * 1.05)] },
      },
      axes: [axisOfTime(data, axis()), axisOfValues(data, axis())],
      series: [{}, ...lines.map((one) => ({
        label: one.label,
        stroke: tone(one.kind, figure),
        width: 1.5,
        dash: one.dash,
        points: { show: data.at.length < 40, size: 4 },
        spanGaps: false,
      }))],
    }, [data.at, ...lines.map((one) => one.values)], plot);
  }

  // Names from top to bottom, two bars for each where two are compared.
  function compared(figure, plot, data) {
    const shown = data.unit === "share" ? share : span;
    const places = data.names.map((_, n) => n);
    const size = Math.min(NAME_WIDTH, plot.clientWidth / 3);
    const cut = Math.floor(size / CHARACTER);
    const names = data.names.map((name) => (name.length > cut ? `${name.slice(0, cut - 1)}…` : name));
    const isOne = data.series.length === 1;
    const most = Math.max(...data.series.flatMap((one) => one.values), 0) || 1;
    return new window.uPlot({
      width: plot.clientWidth,
      height: plot.clientHeight,
      legend: { show: false },
      cursor: { ...still, x: false, points: { show: false } },
      plugins: [tip((n) => data.names[n], data.series, shown)],
      scales: {
        x: { time: false, ori: 1, dir: -1, range: [-0.5, data.names.length - 0.5] },
        y: { ori: 0, range: [0, most] },
      },
      axes: [
        { ...axis(), side: 3, size, splits: () => places, values: () => names, grid: { show: false } },
        { ...axis(), side: 2, size: 28, space: 64, incrs: data.unit === "share" ? SHARE_STEPS : msSteps, values: (u, splits) => splits.map(shown) },
      ],
      series: [{}, ...data.series.map((one, n) => ({
        label: one.label,
        fill: tone("tone", figure.querySelector(`.${one.kind}`)),
        width: 0,
        paths: window.uPlot.paths.bars({ size: [isOne ? 0.5 : 0.38, 16], align: isOne ? 0 : 2 * n - 1 }),
        points: { show: false },
      }))],
    }, [places, ...data.series.map((one) => one.values)], plot);
  }

  function trend(figure, plot, data) {
    const isOne = data.lines.length === 1;
    const time = clockOf(data.at);
    const half = (data.at.length > 1 ? data.at[1] - data.at[0] : 60) / 2;
    const middles = data.at.map((at) => at + half); // a value stands in the middle of its time
    return new window.uPlot({
      width: plot.clientWidth,
      height: TREND_HEIGHT,
      cursor: { drag: { x: false, y: false } },
      scales: {
        x: { range: [data.at[0], data.at.at(-1) + 2 * half] },
        y: { range: (u, low, high) => [0, Math.max(1, high)] },
      },
      axes: [{ ...axis(), size: 28, space: 90, values: (u, splits) => splits.map(time) }, { ...axis(), size: 46, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000] }],
      series: [{ value: (u, at) => (at == null ? "–" : time(at - half)) }, ...data.lines.map((one, n) => ({
        label: one.label,
        stroke: tone(TONES[n]),
        fill: isOne ? tone(TONES[n]) : undefined,
        width: isOne ? 0 : 2,
        paths: isOne ? window.uPlot.paths.bars({ size: [0.8, 40] }) : undefined,
        points: { show: false },
      }))],
    }, [middles, ...data.lines.map((one) => one.jobs)], plot);
  }

  function spark(figure, plot, values) {
    return new window.uPlot({
      width: plot.clientWidth,
      height: plot.clientHeight,
      cursor: { show: false },
      legend: { show: false },
      scales: { x: { time: false }, y: { range: (u, low, high) => [0, Math.max(1, high)] } },
      axes: [{ show: false }, { show: false }],
      series: [{}, { stroke: tone(figure.dataset.ojsTone || "red"), width: 1.5, points: { show: false } }],
    }, [values.map((_, n) => n), values], plot);
  }

  const KINDS = { values: overTime, ojsCompared: compared, ojsTrend: trend, ojsSpark: spark };

  function draw(figure) {
    const [kind, make] = Object.entries(KINDS).find(([name]) => name in figure.dataset);
    const plot = figure.querySelector(".plot") || figure;
    const text = figure.dataset[kind];
    const before = drawn.get(plot);
    if (before?.text === text) return;
    before?.chart.destroy();
    drawn.set(plot, { text, chart: make(figure, plot, JSON.parse(text)) });
  }

  function drawAll() {
    for (const [plot, one] of drawn) {
      if (plot.isConnected) continue;
      one.chart.destroy();
      drawn.delete(plot);
    }
    document.querySelectorAll("[data-values], [data-ojs-compared], [data-ojs-trend], [data-ojs-spark]").forEach(draw);
  }

  function redrawAll() {
    drawn.forEach((one) => one.chart.destroy());
    drawn.clear();
    drawAll();
  }

  let waiting = 0;
  document.addEventListener("ojs:fresh", drawAll);
  document.addEventListener("ojs:theme", redrawAll);
  window.addEventListener("resize", () => {
    window.clearTimeout(waiting);
    waiting = window.setTimeout(redrawAll, 150);
  });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);
  drawAll();
})();
