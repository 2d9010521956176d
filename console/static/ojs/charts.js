// Draws the figures marked data-chart with uPlot, from the JSON they carry.
"use strict";

(() => {
  const drawn = new Map(); // by name, with the element it was drawn into

  function color(name) {
    return getComputedStyle(document.querySelector(".chart")).getPropertyValue(`--${name}`);
  }

  // light-dark() is resolved on an element only, not in the text of a property
  function resolved(name) {
    const probe = document.createElement("span");
    probe.style.color = color(name) || `var(--${name})`;
    document.querySelector(".chart").append(probe);
    const found = getComputedStyle(probe).color;
    probe.remove();
    return found;
  }

  function clock(seconds) {
    const timeZone = localStorage.getItem("ojs.zone") || undefined;
    const form = { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone };
    return new Date(seconds * 1000).toLocaleTimeString([], form);
  }

  function tip(data) {
    const box = document.createElement("div");
    box.className = "tip";
    box.hidden = true;
    return {
      hooks: {
        init: (u) => u.over.append(box),
        setCursor: (u) => {
          const { idx, left } = u.cursor;
          box.hidden = idx == null || left < 0;
          if (box.hidden) return;
          const time = clock(u.data[0][idx]);
          const parts = data.series.map((one) => `${one.label} ${one.values[idx] ?? "–"}`);
          box.textContent = [time, ...parts].join(" · ");
          const most = u.over.clientWidth - box.offsetWidth;
          box.style.left = `${Math.max(0, Math.min(left + 8, most))}px`;
          box.style.top = "0";
        },
      },
    };
  }

  function draw(figure) {
    const plot = figure.querySelector(".plot");
    const text = figure.dataset.values;
    const before = drawn.get(figure.dataset.chart);
    if (before && before.plot === plot && before.text === text) return;
    const data = JSON.parse(text);
    before?.chart.destroy();
    const quiet = resolved("quiet");
    const line = resolved("line");
    const axis = { stroke: quiet, grid: { stroke: line, width: 1 }, ticks: { show: false } };
    const chart = new window.uPlot(
      {
        width: plot.clientWidth,
        height: plot.clientHeight,
        legend: { show: false },
        cursor: { y: false, drag: { x: false, y: false } },
        plugins: [tip(data)],
        scales: { y: { range: (u, low, high) => [0, Math.max(1, high * 1.05)] } },
        axes: [{ ...axis, size: 28, values: (u, splits) => splits.map(clock) }, { ...axis, size: 56 }],
        series: [
          {},
          ...data.series.map((one) => ({
            label: one.label,
            stroke: resolved(one.kind),
            width: 1.5,
            points: { show: false },
            spanGaps: false,
          })),
        ],
      },
      [data.at, ...data.series.map((one) => one.values)],
      plot,
    );
    drawn.set(figure.dataset.chart, { plot, text, chart });
  }

  function drawAll() {
    document.querySelectorAll("[data-chart]").forEach(draw);
  }

  function redrawAll() {
    drawn.forEach((one) => one.chart.destroy());
    drawn.clear();
    drawAll();
  }

  document.addEventListener("ojs:fresh", drawAll);
  document.addEventListener("ojs:zone", redrawAll);
  document.addEventListener("ojs:theme", redrawAll);
  window.addEventListener("resize", redrawAll);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);
  drawAll();
})();
