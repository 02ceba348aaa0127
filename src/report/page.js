/* The interactive parts of a report: theme, panels, sortable tables, values of matrices; the curves
 *   are in page_curves.js, which uses the object that this file returns. All data is in the page;
 *   nothing is loaded. Text from runs is only set as textContent, never as markup. */
const page = (() => {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg";
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const read = (id) => {
    const element = document.getElementById(id);
    return element ? JSON.parse(element.textContent) : null;
  };

  function make(name, attributes = {}, text) {
    const element = document.createElement(name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    if (text !== undefined) element.textContent = text;
    return element;
  }

  function draw(parent, name, attributes = {}, text) {
    const element = document.createElementNS(SVG, name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    if (text !== undefined) element.textContent = text;
    return parent.appendChild(element);
  }

  // ---- theme

  const root = document.documentElement, button = document.getElementById("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
  function labelTheme() {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`);
  }
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    labelTheme();
  });
  dark.addEventListener("change", labelTheme);
  labelTheme();

  // ---- panels: one is shown at a time

  for (const select of all("select[data-pick]")) {
    const panels = all(`[data-panel="${select.dataset.pick}"]`);
    const show = () => {
      for (const panel of panels) {
        panel.hidden = panel.dataset.index !== select.value;
        const title = panel.querySelector("h3");
        if (title && select.options.length === 1) title.hidden = true;
      }
    };
    if (select.options.length < 2) select.closest(".pick").hidden = true;
    select.addEventListener("change", show);
    show();
  }

  // ---- settings that differ

  for (const box of all("[data-only-diff]")) {
    const table = document.getElementById("settings");
    const show = () => table.classList.toggle("only-diff", box.checked);
    box.addEventListener("change", show);
    show();
  }

  // ---- sortable tables

  for (const table of all("table.sortable")) {
    const heads = all("thead th", table), body = table.tBodies[0], rows = [...body.rows];
    const sort = (index) => {
      const head = heads[index], up = head.getAttribute("aria-sort") !== "ascending";
      const value = (row) => {
        const text = row.cells[index].textContent, number = parseFloat(text);
        return index === 0 || Number.isNaN(number) ? text : number;
      };
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      rows.sort((a, b) => {
        const x = value(a), y = value(b);
        const order = typeof x === "number" && typeof y === "number"
          ? x - y : String(x).localeCompare(String(y));
        return up ? order : -order;
      });
      body.append(...rows);
    };
    heads.forEach((head, index) => {
      head.tabIndex = 0;
      head.addEventListener("click", () => sort(index));
      head.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          sort(index);
        }
      });
    });
  }

  // ---- confusion matrices drawn as pictures

  for (const image of all("img[data-matrix]")) {
    const data = read(`matrix-${image.dataset.matrix}`), n = data.names.length;
    const counts = new Map(), totals = new Array(n).fill(0);
    for (let i = 0; i < data.counts.length; i += 3) {
      const [row, column, count] = data.counts.slice(i, i + 3);
      counts.set(row * n + column, count);
      totals[row] += count;
    }
    const line = document.querySelector(`[data-matrix-value="${image.dataset.matrix}"]`);
    const empty = line.textContent;
    image.addEventListener("pointermove", (event) => {
      const box = image.getBoundingClientRect();
      const at = (x, size) => Math.min(n - 1, Math.max(0, Math.floor((x / size) * n)));
      const row = at(event.clientY - box.top, box.height);
      const column = at(event.clientX - box.left, box.width);
      const count = counts.get(row * n + column) || 0;
      const share = totals[row] ? (100 * count) / totals[row] : 0;
      line.textContent = row === column
        ? `${data.names[row]}: ${count} right (${share.toFixed(1)} %)`
        : `${data.names[row]} predicted as ${data.names[column]}: ${count} (${share.toFixed(1)} %)`;
    });
    image.addEventListener("pointerleave", () => { line.textContent = empty; });
  }

  return { all, read, make, draw };
})();
