/* The curves of a report, with values under the pointer and a legend that switches them. */
(() => {
  "use strict";
  const { all, read, make, draw } = page;

  const data = read("curve-data");
  if (!data) return;
  const runs = data.runs, setups = data.setups;
  setups.forEach((setup) => { setup.runs = runs.filter((run) => setups[run.setup] === setup); });

  const endsOf = (values) => values.reduce(([low, high], value) =>
    [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);

  // Whether a line is the mean of a setup's runs, which the reader chooses, or a run.
  const bySetup = setups.some((setup) => setup.runs.length > 1);
  let means = bySetup;

  // Leading words that all setups share, such as the name of the only model, are left out.
  const ofSetups = setups.filter((setup) => setup.runs.length);
  const wordsOf = (setup) => setup.name.split(" \u00b7 ");
  while (bySetup && ofSetups.length > 1 && ofSetups.every((setup) => wordsOf(setup).length > 1
    && wordsOf(setup)[0] === wordsOf(ofSetups[0])[0]))
    ofSetups.forEach((setup) => { setup.name = wordsOf(setup).slice(1).join(" \u00b7 "); });

  // The entries of the legend: setups, or runs if each is its own setup or all belong to one.
  const ofRuns = runs.map((run) => ({ ...run, setupName: setups[run.setup].name, runs: [run] }));
  [...ofSetups, ...ofRuns].forEach((entry) => { entry.shown = true; });
  const entries = () => (bySetup && (means || ofSetups.length > 1) ? ofSetups : ofRuns);

  // The loss of steps, or of epochs where a run has fewer lines of steps than epochs.
  const bySteps = (run) => run.x.length > 1 && run.x.length >= run.epochs.length;
  const overBlocks = {
    mean: (list) => list.reduce((a, b) => a + b, 0) / list.length,
    largest: (list) => Math.max(...list),
  };
  const [, blocks] = endsOf(runs.flatMap((run) => (run.mixerNorms || []).map((b) => b.length)));
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
  const other = !validation ? "Test"
    : runs.every((run) => run.validation) ? "Validation" : "Test or validation";
  const panels = [
    { title: "Training loss", note: data.lossNote, of: (run, steps = bySteps(run)) =>
      (steps ? [run.x, run.loss] : [run.epochs, run.epochLoss]) },
    { title: `${other} ${data.metric}`, percent: data.percent, of: (run) =>
      [run.epochs, run.testScore] },
    { title: `${other} loss`, of: (run) => [run.epochs, run.testLoss] },
    { title: `Training ${data.metric}`, percent: data.percent, of: (run) => [run.epochs, run.score] },
    { title: "Learning rate", of: (run, steps = bySteps(run)) =>
      (steps ? [run.x, run.lr] : [run.epochs, run.epochLr]) },
    { title: "Gradient norm", log: true, of: (run) => [run.x, run.norm] },
    { title: "Gradient norm of the mixers", log: true, blocks: true, of: (run) =>
      [run.mixerNorms ? run.x : [], ofBlocks(run.mixerNorms)] },
    { title: "Gain of the kernels", blocks: true, of: (run) =>
      [run.kernelGains ? run.x : [], ofBlocks(run.kernelGains)] },
  ];

  const spacingOf = (x) => (x[x.length - 1] - x[0]) / Math.max(1, x.length - 1);

  // The mean over a setup's runs, without repeats of a seed, at every x at which all runs that have
  // reached it have a point: {x, y, n, ..}, where n is the number of values, with their standard
  // deviation (n - 1) and minimum. null: no two runs share an x.
  function meanOf(panel, setup) {
    const steps = setup.runs.some(bySteps);
    const curves = setup.runs.filter((run) => !run.repeat).map((run) => {
      const [x, y] = panel.of(run, steps);
      return { at: new Map(x.map((one, i) => [one, y[i]])),
        end: x[x.length - 1] + 0.99 * spacingOf(x) }; /* where its next point would be */
    }).filter((curve) => curve.at.size);
    const places = [...new Set(curves.flatMap((curve) => [...curve.at.keys()]))];
    const points = [];
    for (const x of places.sort((a, b) => a - b)) {
      if (curves.some((curve) => x < curve.end && !curve.at.has(x))) continue;
      const values = curves.map((curve) => curve.at.get(x)).filter((y) => typeof y === "number");
      const n = values.length, y = values.reduce((a, b) => a + b, 0) / n;
      const squares = values.reduce((sum, one) => sum + (one - y) ** 2, 0);
      if (n) points.push({ x, y, n, deviation: n > 1 ? Math.sqrt(squares / (n - 1)) : null,
        least: Math.min(...values) });
    }
    return curves.length > 1 && !points.some((p) => p.n > 1) ? null : points;
  }

  function pointsOf(panel, run) {
    const [x, y] = panel.of(run);
    return x.map((one, i) => ({ x: one, y: y[i] })).filter((p) => p.y !== null);
  }

  // The lines of a chart. When means are shown, runs of a setup that share no x are drawn one by
  // one; the runs of a single setup differ by their dashes.
  function linesOf(panel) {
    const lines = [], shown = entries().filter((entry) => entry.shown);
    for (const entry of shown) {
      const mean = means ? meanOf(panel, entry) : null;
      const alone = shown.length === 1 && entry.runs.length > 1;
      const add = ({ name, colour, dash }, points) => lines.push({ entry, name, colour, dash,
        points: points.filter((p) => !panel.log || p.y > 0) });
      if (mean) add(entry, mean);
      else entry.runs.forEach((run, i) =>
        add(alone ? { ...run, dash: i % 4 } : run, pointsOf(panel, run)));
    }
    return lines.filter((line) => line.points.length);
  }

  const short = (value) => {
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size >= 1e5 || size < 1e-3)
      return value.toExponential(1).replace(".0", "").replace("e+", "e");
    return String(Number(value.toPrecision(4)));
  };

  function niceStep(range, wanted) {
    const raw = range / wanted, unit = 10 ** Math.floor(Math.log10(raw)), part = raw / unit;
    return unit * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
  }

  // The ends of the axis of values, and its ticks. Percentages stay within 0 and 100, which are
  // ticks of every step.
  function scaleOf(values, log, percent) {
    let [low, high] = endsOf(values);
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
    if (percent) [low, high] = [Math.max(low, 0), Math.min(high, 100)];
    for (let i = 0; i <= Math.round((high - low) / step); i++)
      ticks.push([low + i * step, short(Number((low + i * step).toPrecision(10)))]);
    return { low, high, ticks, at: (x) => x };
  }

  const legend = document.getElementById("legend"), charts = document.getElementById("charts");
  const drawAll = [];
  const redrawAll = () => drawAll.forEach((redraw) => redraw());

  function drawSample(parent, one) {
    const sample = draw(parent, "svg", { class: "swatch", viewBox: "0 0 26 10",
      "aria-hidden": "true" });
    draw(sample, "line", { x1: 1, y1: 5, x2: 25, y2: 5,
      class: `line s${one.colour} d${one.dash}` });
  }

  // ---- legend

  let showStates = []; // of what the legend has, on its buttons
  function show(isShown) {
    entries().forEach((entry) => { entry.shown = isShown(entry); });
    showStates.forEach((showState) => showState());
    redrawAll();
  }

  function addEntry(entry) {
    const chip = make("button", { type: "button", title: entry.setupName || entry.name });
    drawSample(chip, entry);
    chip.append(make("span", {}, entry.name));
    chip.addEventListener("click", () => show((one) => one.shown !== (one === entry)));
    showStates.push(() => chip.setAttribute("aria-pressed", String(entry.shown)));
    if (!bySetup) {
      legend.append(chip);
      return;
    }
    const box = legend.appendChild(make("span", { class: "entry" }));
    const count = entry.runs.length;
    if (entries() === ofSetups)
      chip.append(" ", make("span", { class: "count" }, `${count} run${count > 1 ? "s" : ""}`));
    box.append(chip);
    showStates.push(() => box.classList.toggle("off", !entry.shown));
    if (entries().length < 2) return;
    const isAlone = () => entries().every((one) => one.shown === (one === entry));
    const showAlone = () => {
      const alone = isAlone();
      show((one) => alone || one === entry);
    };
    const only = box.appendChild(make("button", { type: "button", class: "only",
      "aria-label": `Only ${entry.name}` }, "only"));
    only.addEventListener("click", showAlone);
    chip.addEventListener("dblclick", showAlone); // after two clicks, which cancel each other
    chip.title += "\nA double click shows it alone.";
    showStates.push(() => only.setAttribute("aria-pressed", String(isAlone())));
  }

  function makeLegend() {
    const what = entries() === ofSetups ? "Setups" : "Runs";
    legend.setAttribute("aria-label", `${what} to show`);
    showStates = [];
    legend.replaceChildren();
    entries().forEach(addEntry);
    showStates.forEach((showState) => showState());
  }

  function addLegendTools() {
    const tools = make("div", { class: "legend-tools" });
    const label = tools.appendChild(make("label", {}, "Lines "));
    const select = label.appendChild(make("select", { id: "lines" }));
    select.append(make("option", { value: "means" }, "mean of each setup"),
      make("option", { value: "runs" }, "every run"));
    const group = tools.appendChild(make("span", { role: "group", "aria-label": "Show" },
      "Show "));
    group.hidden = entries().length < 2;
    const note = make("p", { class: "note" }, "Lines are means over the runs of a setup, bands one "
      + "standard deviation (n \u2212 1) around them.");
    select.addEventListener("change", () => {
      means = select.value === "means";
      note.hidden = !means;
      group.hidden = entries().length < 2;
      makeLegend();
      redrawAll();
    });
    for (const [text, shown] of [["all", true], ["none", false]])
      group.appendChild(make("button", { type: "button", "aria-label": `Show ${text}` }, text))
        .addEventListener("click", () => show(() => shown));
    legend.before(tools);
    legend.after(note);
  }

  makeLegend();
  if (bySetup) addLegendTools();
  if (runs.length < 2) legend.hidden = true;

  // ---- charts

  const MANY = 12; // lines, beyond which they are thin, and those of a setup share a row of values

  // The range that the axis of values must cover: a point with its band. On a logarithmic axis the
  // band may extend below zero, so the minimum of the averaged values is used instead.
  function valuesAround(p, log) {
    if (!p.deviation) return [p.y];
    return [log ? (p.least > 0 ? p.least : p.y) : p.y - p.deviation, p.y + p.deviation];
  }

  const hasDeviation = (p) => typeof p.deviation === "number";
  const digits = (value, count) => String(Number(value.toPrecision(count)));
  const textOf = (p) => digits(p.y, 5)
    + (hasDeviation(p) ? ` \u00b1 ${digits(p.deviation, 3)}` : "");

  // Parts of a line where there are deviations, each with a band.
  function stretchesOf(points) {
    const stretches = [[]];
    for (const p of points) {
      if (hasDeviation(p)) stretches[stretches.length - 1].push(p);
      else stretches.push([]);
    }
    return stretches.filter((stretch) => stretch.length);
  }

  function addChart(panel) {
    const box = charts.appendChild(make("figure", { class: "chart" }));
    const head = box.appendChild(make("div", { class: "chart-head" }));
    head.append(make("span", { class: "chart-title" }, panel.title));
    const tools = head.appendChild(make("span", { class: "chart-tools" }));
    const svg = draw(box, "svg", { role: "img", tabindex: "0" });
    const tip = box.appendChild(make("div", { class: "tip", hidden: "" }));
    if (panel.note) box.append(make("figcaption", { class: "dim" }, panel.note));
    let view = null;

    if (panel.blocks && blocks > 1) {
      const select = tools.appendChild(make("select", { "aria-label": "Blocks" }));
      select.append(make("option", { value: "mean" }, "mean of blocks"),
        make("option", { value: "largest" }, "largest"));
      for (let i = 0; i < blocks; i++)
        select.append(make("option", { value: i }, `block ${i + 1}`));
      select.addEventListener("change", () => {
        choice = select.value;
        all(".chart-tools select").forEach((one) => { one.value = choice; });
        redrawAll();
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
      const lines = linesOf(panel);
      svg.replaceChildren();
      svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      tip.hidden = true;
      view = null;
      if (!lines.length) {
        svg.setAttribute("aria-label", `${panel.title}: nothing to show`);
        draw(svg, "text", { x: width / 2, y: height / 2, "text-anchor": "middle" },
          "nothing to show");
        return;
      }
      const points = lines.flatMap((line) => line.points);
      const scale = scaleOf(points.flatMap((p) => valuesAround(p, panel.log)), panel.log,
        panel.percent);
      const [, end] = endsOf(points.map((p) => p.x));
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
      for (const line of lines)
        for (const stretch of stretchesOf(line.points)) {
          const edge = (p, side) => {
            const y = p.y + side * p.deviation;
            const place = panel.log && y <= 0 ? Infinity : down(y);
            const within = Math.max(top, Math.min(place, height - bottom));
            return `${across(p.x).toFixed(1)} ${within.toFixed(1)}`;
          };
          const around = [...stretch.map((p) => edge(p, 1)),
            ...stretch.map((p) => edge(p, -1)).reverse()];
          draw(svg, "path", { d: `M${around.join("L")}Z`, class: `band s${line.colour}`
            + `${stretch.length > 1 ? "" : " bar"}${lines.length > 6 ? " faint" : ""}` });
        }
      for (const { points, colour, dash } of lines) {
        const path = points.map((p, i) =>
          `${i ? "L" : "M"}${across(p.x).toFixed(1)} ${down(p.y).toFixed(1)}`).join("");
        draw(svg, "path", { d: path,
          class: `line s${colour} d${dash}${bySetup && lines.length > MANY ? " thin" : ""}` });
        if (points.length <= 12)
          for (const p of points)
            draw(svg, "circle", { class: `dot s${colour}`, cx: across(p.x), cy: down(p.y),
              r: lines.length > 6 ? 2.4 : 3.2 });
      }
      const ends = lines.map((line) => {
        const last = line.points[line.points.length - 1];
        return `${line.name} ${short(last.y)}`
          + (hasDeviation(last) ? ` \u00b1 ${short(last.deviation)}` : "");
      });
      svg.setAttribute("aria-label", `${panel.title} over epochs; at the end: ${ends.join(", ")}`);
      view = { lines, across, down, width, height, left, right, top, bottom, start, end,
        cursor: draw(svg, "g") };
    }

    // Values of every line at the point nearest to x, an epoch.
    function showAt(x) {
      if (!view) return;
      const { lines, across, down, cursor } = view;
      const nearest = lines.map((line) => ({ line, point: line.points.reduce((best, p) =>
        (Math.abs(p.x - x) < Math.abs(best.x - x) ? p : best)) }));
      const anchor = nearest.reduce((a, b) =>
        (Math.abs(b.point.x - x) < Math.abs(a.point.x - x) ? b : a)).point.x;
      const near = nearest.filter(({ line, point }) => // not a line that has ended before
        Math.abs(point.x - anchor) <= 0.51 * spacingOf(line.points.map((p) => p.x)));
      view.x = anchor;
      cursor.replaceChildren();
      draw(cursor, "line", { class: "cursor", x1: across(anchor), x2: across(anchor), y1: view.top,
        y2: view.height - view.bottom });
      for (const { line, point } of near)
        draw(cursor, "circle", { class: `dot s${line.colour}`, cx: across(point.x),
          cy: down(point.y), r: 4 });
      const rows = new Map();
      for (const one of near) {
        const key = lines.length > MANY ? one.line.entry : one;
        rows.set(key, [...(rows.get(key) || []), one]);
      }
      const meanOfRow = (row) => row.reduce((sum, { point }) => sum + point.y, 0) / row.length;
      const table = make("table");
      for (const row of [...rows.values()].sort((a, b) => meanOfRow(b) - meanOfRow(a))) {
        const one = row.length > 1 ? row[0].line.entry : row[0].line;
        const line = table.insertRow(), name = line.insertCell();
        drawSample(name, one);
        name.append(one.name);
        line.insertCell().textContent = row.map(({ point }) => textOf(point)).join(", ");
        if (means) line.insertCell().textContent = row[0].point.n ? `n = ${row[0].point.n}` : "";
      }
      tip.replaceChildren(make("div", { class: "tip-head" },
        `epoch ${Number(anchor.toPrecision(4))}`), table);
      tip.hidden = false;
      tip.style.left = "0"; /* natural width, measured below */
      const ratio = svg.clientWidth / view.width, place = across(anchor) * ratio;
      const beyond = place + 14 + tip.offsetWidth > box.clientWidth;
      tip.style.left = `${Math.max(0, beyond ? place - 14 - tip.offsetWidth : place + 14)}px`;
      /* beside the cursor, or below where it would hide the chart */
      const wide = tip.offsetWidth > box.clientWidth / 2 || box.clientWidth < 400;
      tip.style.top = `${head.offsetHeight + (wide ? view.height * ratio : 12)}px`;
    }
    function hide() {
      tip.hidden = true;
      if (view) view.cursor.replaceChildren();
    }
    const point = (event) => {
      if (!view) return;
      const { left } = svg.getBoundingClientRect();
      const at = ((event.clientX - left) / svg.clientWidth) * view.width;
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
      const places = [...new Set(view.lines.flatMap((line) => line.points.map((p) => p.x)))]
        .sort((a, b) => a - b);
      const now = view.x === undefined ? (turn > 0 ? -1 : places.length) : places.indexOf(view.x);
      showAt(places[Math.min(places.length - 1, Math.max(0, now + turn))]);
    });
    drawAll.push(redraw);
  }

  panels.filter((panel) => runs.some((run) => panel.of(run)[1].some((y) => y !== null)))
    .forEach(addChart);
  redrawAll(); /* all charts exist now and have their final width */
  let wide = charts.clientWidth;
  new ResizeObserver(() => {
    if (charts.clientWidth === wide) return;
    wide = charts.clientWidth;
    redrawAll();
  }).observe(charts);
})();
