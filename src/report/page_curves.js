/* The curves of a report, with values under the pointer and a legend that switches them. */
(() => {
  "use strict";
  const { all, read, make, draw } = page;

  const runs = read("curve-data");
  if (!runs) return;
  runs.forEach((run) => { run.shown = true; });

  // The loss of steps, or of epochs where a run has fewer lines of steps than epochs.
  const bySteps = (run) => run.x.length > 1 && run.x.length >= run.epochs.length;
  const overBlocks = {
    mean: (list) => list.reduce((a, b) => a + b, 0) / list.length,
    largest: (list) => Math.max(...list),
  };
  const blocks = Math.max(0, ...runs.flatMap((run) => (run.mixerNorms || []).map((b) => b.length)));
  let choice = "mean";
  function ofBlocks(lists) {
    if (!lists) return [];
    return lists.map((list) => {
      const known = list.filter((x) => x !== null);
      if (!known.length) return null;
      if (overBlocks[choice]) return overBlocks[choice](known);
      const value = list[Number(choice)];
      return value === undefined ? null : value;
    });
  }
  const validation = runs.some((run) => run.validation);
  const other = validation ? (runs.every((run) => run.validation) ? "Validation" : "Test or validation")
    : "Test";
  const panels = [
    { title: "Training loss", of: (run) =>
      (bySteps(run) ? [run.x, run.loss] : [run.epochs, run.epochLoss]) },
    { title: `${other} accuracy, %`, of: (run) => [run.epochs, run.testAccuracy] },
    { title: `${other} loss`, of: (run) => [run.epochs, run.testLoss] },
    { title: "Training accuracy, %", of: (run) => [run.epochs, run.accuracy] },
    { title: "Learning rate", of: (run) =>
      (bySteps(run) ? [run.x, run.lr] : [run.epochs, run.epochLr]) },
    { title: "Gradient norm", log: true, of: (run) => [run.x, run.norm] },
    { title: "Gradient norm of the mixers", log: true, blocks: true, of: (run) =>
      [run.mixerNorms ? run.x : [], ofBlocks(run.mixerNorms)] },
    { title: "Gain of the kernels", blocks: true, of: (run) =>
      [run.kernelGains ? run.x : [], ofBlocks(run.kernelGains)] },
  ];

  const short = (value) => {
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size >= 1e5 || size < 1e-3) return value.toExponential(1).replace(".0", "").replace("e+", "e");
    return String(Number(value.toPrecision(4)));
  };

  function niceStep(range, wanted) {
    const raw = range / wanted, unit = 10 ** Math.floor(Math.log10(raw)), part = raw / unit;
    return unit * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
  }

  // The ends of the axis of values, and its ticks.
  function scaleOf(values, log) {
    let low = Math.min(...values), high = Math.max(...values);
    if (log) {
      low = Math.log10(low);
      high = Math.log10(high);
      if (high - low < 0.1) [low, high] = [low - 0.1, high + 0.1];
      const ticks = [];
      const whole = high - low > 1.2;
      for (let p = Math.floor(low); p <= Math.ceil(high); p++)
        for (const k of whole ? [1] : [1, 2, 5]) {
          const at = p + Math.log10(k);
          if (at >= low - 1e-9 && at <= high + 1e-9) ticks.push([at, short(k * 10 ** p)]);
        }
      return { low, high, ticks, at: Math.log10 };
    }
    if (high - low < 1e-9 * Math.max(Math.abs(high), 1e-3)) {
      const margin = Math.max(Math.abs(high) * 0.1, 1e-3);
      low -= margin;
      high += margin;
    }
    const step = niceStep(high - low, 5), ticks = [];
    low = Math.floor(low / step) * step;
    high = Math.ceil(high / step) * step;
    for (let i = 0; i <= Math.round((high - low) / step); i++)
      ticks.push([low + i * step, short(Number((low + i * step).toPrecision(10)))]);
    return { low, high, ticks, at: (x) => x };
  }

  const legend = document.getElementById("legend"), charts = document.getElementById("charts");
  const drawAll = [];

  runs.forEach((run) => {
    const chip = make("button", { type: "button", "aria-pressed": "true", title: run.group });
    const sample = draw(chip, "svg", { class: "swatch", viewBox: "0 0 26 10",
      "aria-hidden": "true" });
    draw(sample, "line", { x1: 1, y1: 5, x2: 25, y2: 5,
      class: `line s${run.colour} d${run.dash}` });
    chip.append(make("span", {}, run.name));
    chip.addEventListener("click", () => {
      run.shown = !run.shown;
      chip.setAttribute("aria-pressed", String(run.shown));
      drawAll.forEach((redraw) => redraw());
    });
    legend.append(chip);
  });
  if (runs.length < 2) legend.hidden = true;

  function addChart(panel) {
    const box = charts.appendChild(make("figure", { class: "chart" }));
    const head = box.appendChild(make("div", { class: "chart-head" }));
    head.append(make("span", { class: "chart-title" }, panel.title));
    const tools = head.appendChild(make("span", { class: "chart-tools" }));
    const svg = draw(box, "svg", { role: "img", tabindex: "0" });
    const tip = box.appendChild(make("div", { class: "tip", hidden: "" }));
    let view = null;

    if (panel.blocks && blocks > 1) {
      const select = tools.appendChild(make("select", { "aria-label": "Blocks" }));
      select.append(make("option", { value: "mean" }, "mean of blocks"),
        make("option", { value: "largest" }, "largest"));
      for (let i = 0; i < blocks; i++) select.append(make("option", { value: i }, `block ${i + 1}`));
      select.addEventListener("change", () => {
        choice = select.value;
        all(".chart-tools select").forEach((one) => { one.value = choice; });
        drawAll.forEach((redraw) => redraw());
      });
    }
    const logButton = tools.appendChild(make("button", { type: "button",
      "aria-pressed": String(Boolean(panel.log)) }, "log"));
    logButton.addEventListener("click", () => {
      panel.log = !panel.log;
      logButton.setAttribute("aria-pressed", String(panel.log));
      redraw();
    });

    function redraw() {
      const width = Math.max(260, box.clientWidth || 480), height = Math.round(width * 0.52);
      const left = 46, right = 12, top = 8, bottom = 36;
      const series = runs.filter((run) => run.shown).map((run) => {
        const [x, y] = panel.of(run), points = [];
        for (let i = 0; i < y.length; i++)
          if (y[i] !== null && (!panel.log || y[i] > 0)) points.push([x[i], y[i]]);
        return { run, points };
      }).filter((one) => one.points.length);
      svg.replaceChildren();
      svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      tip.hidden = true;
      view = null;
      if (!series.length) {
        svg.setAttribute("aria-label", `${panel.title}: nothing to show`);
        draw(svg, "text", { x: width / 2, y: height / 2, "text-anchor": "middle" }, "nothing to show");
        return;
      }
      const scale = scaleOf(series.flatMap((one) => one.points.map((p) => p[1])), panel.log);
      const end = Math.max(...series.flatMap((one) => one.points.map((p) => p[0])));
      const start = Math.min(end, 0);
      const across = (x) => left + ((x - start) / (end - start || 1)) * (width - left - right);
      const down = (y) => top + ((scale.high - scale.at(y)) / (scale.high - scale.low))
        * (height - top - bottom);
      for (const [value, text] of scale.ticks) {
        const y = top + ((scale.high - value) / (scale.high - scale.low)) * (height - top - bottom);
        draw(svg, "line", { class: "grid", x1: left, x2: width - right, y1: y, y2: y });
        draw(svg, "text", { x: left - 6, y: y + 4, "text-anchor": "end" }, text);
      }
      const step = Math.max(niceStep(end - start || 1, Math.max(3, width / 90)),
        end - start >= 2 ? 1 : 0);
      for (let x = Math.ceil(start / step) * step; x <= end + step * 1e-6; x += step) {
        draw(svg, "line", { class: "grid", x1: across(x), x2: across(x), y1: top,
          y2: height - bottom });
        draw(svg, "text", { x: across(x), y: height - bottom + 15, "text-anchor": "middle" },
          short(Number(x.toPrecision(10))));
      }
      draw(svg, "line", { class: "axis", x1: left, x2: width - right, y1: height - bottom,
        y2: height - bottom });
      draw(svg, "text", { x: (left + width - right) / 2, y: height - 5, "text-anchor": "middle" },
        "epoch");
      for (const { run, points } of series) {
        const path = points.map((p, i) =>
          `${i ? "L" : "M"}${across(p[0]).toFixed(1)} ${down(p[1]).toFixed(1)}`).join("");
        draw(svg, "path", { d: path, class: `line s${run.colour} d${run.dash}` });
        if (points.length <= 12)
          for (const p of points)
            draw(svg, "circle", { class: `dot s${run.colour}`, cx: across(p[0]), cy: down(p[1]),
              r: series.length > 6 ? 2.4 : 3.2 });
      }
      const ends = series.map(({ run, points }) =>
        `${run.name} ${short(points[points.length - 1][1])}`);
      svg.setAttribute("aria-label", `${panel.title} over epochs; at the end: ${ends.join(", ")}`);
      view = { series, across, down, width, height, left, right, top, bottom, start, end,
        cursor: draw(svg, "g") };
    }

    // Values of every run at the point nearest to x, an epoch.
    function showAt(x) {
      if (!view) return;
      const { series, across, down, cursor } = view;
      const near = series.map(({ run, points }) => {
        let best = points[0];
        for (const p of points) if (Math.abs(p[0] - x) < Math.abs(best[0] - x)) best = p;
        return { run, point: best };
      });
      const anchor = near.reduce((a, b) =>
        (Math.abs(b.point[0] - x) < Math.abs(a.point[0] - x) ? b : a)).point[0];
      view.x = anchor;
      cursor.replaceChildren();
      draw(cursor, "line", { class: "cursor", x1: across(anchor), x2: across(anchor), y1: view.top,
        y2: view.height - view.bottom });
      const table = make("table");
      near.sort((a, b) => b.point[1] - a.point[1]);
      for (const { run, point } of near) {
        draw(cursor, "circle", { class: `dot s${run.colour}`, cx: across(point[0]),
          cy: down(point[1]), r: 4 });
        const row = table.insertRow(), name = row.insertCell();
        const sample = draw(name, "svg", { class: "swatch", viewBox: "0 0 26 10" });
        draw(sample, "line", { x1: 1, y1: 5, x2: 25, y2: 5,
          class: `line s${run.colour} d${run.dash}` });
        name.append(run.name);
        row.insertCell().textContent = String(Number(point[1].toPrecision(5)));
      }
      tip.replaceChildren(make("div", { class: "tip-head" },
        `epoch ${Number(anchor.toPrecision(4))}`), table);
      tip.hidden = false;
      const ratio = svg.clientWidth / view.width, place = across(anchor) * ratio;
      const beyond = place + 14 + tip.offsetWidth > box.clientWidth;
      tip.style.left = `${Math.max(0, beyond ? place - 14 - tip.offsetWidth : place + 14)}px`;
      tip.style.top = `${svg.offsetTop + 12}px`;
    }
    function hide() {
      tip.hidden = true;
      if (view) view.cursor.replaceChildren();
    }
    const point = (event) => {
      if (!view) return;
      const at = ((event.clientX - svg.getBoundingClientRect().left) / svg.clientWidth) * view.width;
      showAt(view.start + ((at - view.left) / (view.width - view.left - view.right))
        * (view.end - view.start));
    };
    svg.addEventListener("pointermove", point);
    svg.addEventListener("pointerdown", point);
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("blur", hide);
    svg.addEventListener("keydown", (event) => {
      const turn = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (event.key === "Escape") hide();
      if (!turn || !view) return;
      event.preventDefault();
      const places = [...new Set(view.series.flatMap((one) => one.points.map((p) => p[0])))]
        .sort((a, b) => a - b);
      const now = view.x === undefined ? (turn > 0 ? -1 : places.length) : places.indexOf(view.x);
      showAt(places[Math.min(places.length - 1, Math.max(0, now + turn))]);
    });
    drawAll.push(redraw);
  }

  panels.filter((panel) => runs.some((run) => panel.of(run)[1].some((y) => y !== null)))
    .forEach(addChart);
  drawAll.forEach((redraw) => redraw()); /* all are there now, and as wide as they will be */
  let wide = charts.clientWidth;
  new ResizeObserver(() => {
    if (charts.clientWidth === wide) return;
    wide = charts.clientWidth;
    drawAll.forEach((redraw) => redraw());
  }).observe(charts);
})();
