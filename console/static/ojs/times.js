// Parts of charts over time: units, times, marks of changes, and the choice of a period by pointer or keys.
"use strict";

(() => {
  const DAY_S = 86_400;
  const UNITS = [[86_400_000, "d"], [3_600_000, "h"], [60_000, "min"], [1000, "s"]];
  const SIZES = [[1e9, "G"], [1e6, "M"], [1e3, "k"]];
  const DECADES = [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];
  const JOB_STEPS = DECADES.flatMap((ten) => [ten, 2 * ten, 5 * ten]);
  const MS_STEPS = [
    ...JOB_STEPS.filter((ms) => ms <= 20_000),
    30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, 43_200_000,
    ...[1, 2, 5, 10, 20, 50, 100].map((days) => days * 86_400_000),
  ];
  const LETTERS = { deployed: "D", paused: "P", resumed: "R", changed: "C" };

  function digits(value) {
    return String(Number(value.toPrecision(3)));
  }

  // the shortest text that reads well: 12 ms, 1.5 s, 2 min, 3 h
  function span(ms) {
    const unit = UNITS.find(([least]) => Math.abs(ms) >= least);
    return unit ? `${digits(ms / unit[0])} ${unit[1]}` : `${digits(ms)} ms`;
  }

  function amount(number) {
    const size = SIZES.find(([least]) => Math.abs(number) >= least);
    return size ? `${digits(number / size[0])} ${size[1]}` : digits(number);
  }

  function zone() {
    return document.documentElement.dataset.zone || undefined;
  }

  function shown(seconds, form, timeZone = zone()) {
    return new Date(seconds * 1000).toLocaleString([], { ...form, hourCycle: "h23", timeZone });
  }

  const CLOCK = { hour: "2-digit", minute: "2-digit" };
  const DATE = { day: "numeric", month: "short" };

  // a step in words; days begin in UTC, whichever zone the page shows
  function named(data, n) {
    const at = data.at[n];
    if (data.step >= DAY_S) return `${shown(at, DATE, "UTC")} (UTC)`;
    const isLong = data.at.at(-1) - data.at[0] > DAY_S;
    return `${shown(at, isLong ? { ...DATE, ...CLOCK } : CLOCK)}–${shown(at + data.step, CLOCK)}`;
  }

  function axisOfTime(data, axis) {
    const length = data.at.at(-1) - data.at[0];
    const isByDay = data.step >= DAY_S;
    return {
      ...axis,
      size: 28,
      space: length > DAY_S ? 90 : 60,
      values: (u, splits, _axis, _space, increment) => splits.map((at) => {
        if (isByDay) return shown(at, DATE, "UTC");
        if (increment >= DAY_S) return shown(at, DATE);
        return shown(at, length > DAY_S ? { ...DATE, ...CLOCK } : CLOCK);
      }),
    };
  }

  function axisOfValues(data, axis) {
    const isTime = data.unit === "ms";
    return {
      ...axis,
      size: 60,
      incrs: isTime ? MS_STEPS : JOB_STEPS,
      values: (u, splits) => splits.map(isTime ? span : amount),
    };
  }

  function dateOf(data) {
    const timeZone = data.step >= DAY_S ? "UTC" : zone();
    return (seconds) => (timeZone
      ? window.uPlot.tzDate(new Date(seconds * 1000), timeZone)
      : new Date(seconds * 1000));
  }

  // The step that is not over yet has a band, and the lines to its values are dashed.
  function unfinished(data, fill) {
    const drawClear = (u) => {
      const { ctx, bbox } = u;
      const since = Math.max(bbox.left, u.valToPos(data.at.at(-1), "x", true));
      ctx.save();
      ctx.globalAlpha = 0.12;
      ctx.fillStyle = fill;
      ctx.fillRect(since, bbox.top, bbox.left + bbox.width - since, bbox.height);
      ctx.restore();
    };
    return { hooks: { drawClear } };
  }

  // The values that are whole, and the last of them with the one that still grows.
  function parted(values) {
    const last = values.length - 1;
    return [values.map((one, n) => (n < last ? one : null)), values.map((one, n) => (n < last - 1 ? null : one))];
  }

  // lines with a letter above the plot; the legend and the list below the chart say what they mean
  function marks(data, toneOf) {
    const draw = (u) => {
      const { ctx, bbox } = u;
      const ratio = window.devicePixelRatio || 1;
      ctx.save();
      ctx.font = `${11 * ratio}px system-ui, sans-serif`;
      ctx.textAlign = "center";
      // letters that would overlap stand side by side, each letter once
      const groups = [];
      const wide = 12 * ratio;
      for (const mark of data.marks) {
        const x = Math.round(u.valToPos(mark.at, "x", true));
        if (x < bbox.left || x > bbox.left + bbox.width) continue;
        ctx.strokeStyle = toneOf(mark.kind);
        ctx.lineWidth = ratio;
        ctx.setLineDash([3 * ratio, 3 * ratio]);
        ctx.beginPath();
        ctx.moveTo(x, bbox.top);
        ctx.lineTo(x, bbox.top + bbox.height);
        ctx.stroke();
        const group = groups.at(-1);
        if (group && x < group.x + wide * Math.max(1, group.kinds.length)) {
          if (!group.kinds.includes(mark.kind)) group.kinds.push(mark.kind);
        } else groups.push({ x, kinds: [mark.kind] });
      }
      for (const { x, kinds } of groups) {
        const first = Math.min(x, bbox.left + bbox.width - wide * (kinds.length - 1));
        kinds.forEach((kind, n) => {
          ctx.fillStyle = toneOf(kind);
          ctx.fillText(LETTERS[kind], first + n * wide, bbox.top - 4 * ratio);
        });
      }
      ctx.restore();
    };
    return { hooks: { draw } };
  }

  function marksAt(data, n) {
    const since = data.at[n];
    return data.marks.filter((mark) => mark.at >= since && mark.at < since + data.step).map((mark) => mark.label);
  }

  function addressOf(data, since, until, by) {
    const iso = (seconds) => new Date(seconds * 1000).toISOString().replace(".000", "");
    const query = new URLSearchParams({ ...data.query, ...(by ? { by } : {}), since: iso(since), until: iso(until) });
    return `${data.jobs}?${query}`;
  }

  // A click, a drag or the keys choose steps; the line below the chart then links to their jobs.
  function picking(figure, plot, data, sayOf) {
    const box = figure.querySelector(".picked");
    const [created, ended] = box.querySelectorAll("a");
    const status = box.querySelector("[role=status]");
    const last = data.at.length - 1;
    let chart = null;
    let here = last;
    let anchor = last;
    let isDragged = false;

    const bound = (n) => Math.max(0, Math.min(last, n));
    const stepAt = (left) => bound(Math.floor((chart.posToVal(left, "x") - data.at[0]) / data.step));

    function choose(one, other) {
      const [first, final] = [Math.min(one, other), Math.max(one, other)];
      const [since, until] = [data.at[first], data.at[final] + data.step];
      const left = chart.valToPos(since, "x");
      chart.setSelect({ left, width: chart.valToPos(until, "x") - left, top: 0, height: chart.over.clientHeight }, false);
      box.hidden = false;
      status.textContent = first === final ? named(data, first) : `${named(data, first)} to ${named(data, final)}`;
      created.href = addressOf(data, since, until, "");
      ended.href = addressOf(data, since, until, "ended");
    }

    function clear() {
      box.hidden = true;
      chart.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    }

    function go(event) {
      const to = { ArrowLeft: here - 1, ArrowRight: here + 1, Home: 0, End: last }[event.key];
      if (to !== undefined) {
        here = bound(to);
        if (!event.shiftKey) anchor = here;
        chart.setCursor({ left: chart.valToPos(data.at[here], "x"), top: 0 });
        if (event.shiftKey) choose(anchor, here);
        figure.querySelector("[data-ojs-said]").textContent = sayOf(here);
      } else if (event.key === "Enter" || event.key === " ") {
        choose(anchor, here);
        created.focus();
      } else if (event.key === "Escape" && !box.hidden) {
        clear();
      } else return;
      event.preventDefault();
    }

    plot.tabIndex = 0;
    plot.onkeydown = go;
    box.querySelector("button").onclick = () => { clear(); plot.focus(); };
    return {
      hooks: {
        init: (u) => {
          chart = u;
          u.over.addEventListener("click", () => {
            if (isDragged) isDragged = false;
            else if (u.cursor.idx != null) choose(u.cursor.idx, u.cursor.idx);
          });
        },
        setSelect: (u) => {
          if (!u.select.width) return;
          isDragged = true;
          choose(stepAt(u.select.left), stepAt(u.select.left + u.select.width - 1));
        },
      },
    };
  }

  window.ojsTimes = {
    amount, axisOfTime, axisOfValues, dateOf, marks, marksAt, msSteps: MS_STEPS, named, parted, picking, shown, span, unfinished,
  };
})();
