"use strict";
(() => {
  const LEAST_FILTERED = 8, LEAST_SORTED = 3; // rows: fewer are seen at once
  const make = (tag, properties, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };
  const shownText = (cell) => (cell.firstChild?.nodeType === Node.TEXT_NODE ? cell.firstChild.nodeValue : "");
  const status = make("p", { className: "status", role: "status" });
  document.body.append(status);
  const say = (text) => { status.textContent = text; };

  // What can be reached in a table by arrows: a cell, or the button in it.
  const stopOf = (cell) => cell.querySelector("button") ?? cell;

  const compare = (one, other) => (typeof one === "number" ? one - other : one < other ? -1 : one > other ? 1 : 0);

  function enhance(table) {
    const caption = shownText(table.caption) || table.caption.textContent;
    const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells], original = [...body.rows];
    const names = new Map(original.map((row) => [row, shownText(row.cells[0])]));
    const taken = new Set();
    let wanted = "";

    for (const one of table.querySelectorAll("[tabindex]")) one.tabIndex = -1;

    const numeric = heads.map((head) => head.classList.contains("number"));
    const keyOf = (row, place) => {
      const cell = row.cells[place], text = place === 0 ? names.get(row) : shownText(cell);
      if (text === "-") return null;
      // The tip of a number begins with its value, in full.
      return numeric[place] ? Number.parseFloat(cell.querySelector(".tip")?.textContent ?? text) : text;
    };
    const kind = (key) => (key === null ? 2 : typeof key === "string" ? 1 : 0); // numbers, text, then what is missing
    const sort = (head, place) => {
      const states = ["none", "ascending", "descending"];
      const state = states[(states.indexOf(head.ariaSort ?? "none") + 1) % states.length];
      for (const one of heads) one.ariaSort = "none";
      head.ariaSort = state;
      const sign = state === "descending" ? -1 : 1;
      const keyed = original.map((row) => ({ row, key: keyOf(row, place) }));
      if (state !== "none") {
        keyed.sort((a, b) => kind(a.key) - kind(b.key) || (a.key === null ? 0 : sign * compare(a.key, b.key)));
      }
      body.append(...keyed.map(({ row }) => row));
      say(state === "none" ? `${caption}: in the first order` : `${caption}: sorted by ${head.dataset.title}, ${state}`);
    };
    if (original.length >= LEAST_SORTED) heads.forEach((head, place) => {
      head.dataset.title = shownText(head);
      head.ariaSort = "none";
      const button = make("button", { type: "button", tabIndex: -1 }, head.dataset.title || "-");
      button.addEventListener("click", () => sort(head, place));
      if (head.firstChild?.nodeType === Node.TEXT_NODE) head.firstChild.remove();
      head.removeAttribute("tabindex");
      head.prepend(button);
    });

    const again = make("button", { type: "button", hidden: true });
    const update = () => {
      let left = 0;
      for (const row of original) {
        row.hidden = taken.has(row) || !names.get(row).toLowerCase().includes(wanted);
        left += !row.hidden;
      }
      again.hidden = taken.size === 0;
      again.textContent = `Show hidden rows (${taken.size})`;
      say(`${caption}: ${left} of ${original.length} rows shown`);
    };
    const hide = (row) => {
      const rows = [...body.rows].filter((one) => !one.hidden), place = rows.indexOf(row);
      taken.add(row);
      update();
      const next = rows[place + 1] ?? rows[place - 1];
      go(next ? stopOf(next.cells[0]) : again);
    };
    again.addEventListener("click", () => { taken.clear(); update(); go(stopOf(body.rows[0].cells[0])); });
    if (original.length >= LEAST_SORTED) for (const row of original) {
      const button = make("button", { type: "button", className: "hide", tabIndex: -1, ariaLabel: `Hide row ${names.get(row)}` }, "\u00d7");
      button.addEventListener("click", () => hide(row));
      row.cells[0].append(" ", button);
      row.cells[0].removeAttribute("tabindex");
    }
    const tools = make("div", { className: "tools" });
    table.parentElement.before(tools);
    if (original.length >= LEAST_FILTERED) tools.append(filterOf());
    tools.append(again);
    function filterOf() {
      const filter = make("input", { type: "search", autocomplete: "off" });
      filter.ariaLabel = `Filter rows of ${caption}`;
      filter.addEventListener("input", () => { wanted = filter.value.toLowerCase(); update(); });
      return make("label", {}, "Filter rows: ", filter);
    }

    // One stop for Tab; arrows go on from it.
    let current = stopOf(heads[0]);
    current.tabIndex = 0;
    function go(stop) {
      if (table.contains(stop)) {
        current.tabIndex = -1;
        current = stop;
        current.tabIndex = 0;
      }
      stop.focus();
    }
    table.addEventListener("focusin", (event) => {
      const cell = event.target.closest("th, td");
      if (cell && table.contains(cell) && event.target !== current) go(stopOf(cell));
    });
    table.addEventListener("keydown", (event) => {
      const cell = event.target.closest("th, td");
      if (!cell || event.altKey || event.metaKey || event.shiftKey) return;
      const rows = [table.tHead.rows[0], ...[...body.rows].filter((row) => !row.hidden)];
      let line = rows.indexOf(cell.parentElement), place = cell.cellIndex;
      if (event.key === "Delete" && line > 0 && original.length >= LEAST_SORTED) { hide(cell.parentElement); event.preventDefault(); return; }
      const last = heads.length - 1;
      if (event.key === "ArrowRight") place += 1;
      else if (event.key === "ArrowLeft") place -= 1;
      else if (event.key === "ArrowDown") line += 1;
      else if (event.key === "ArrowUp") line -= 1;
      else if (event.key === "Home") { place = 0; if (event.ctrlKey) line = 0; }
      else if (event.key === "End") { place = last; if (event.ctrlKey) line = rows.length - 1; }
      else return;
      event.preventDefault();
      const row = rows[Math.min(Math.max(line, 0), rows.length - 1)];
      go(stopOf(row.cells[Math.min(Math.max(place, 0), last)]));
    });
  }

  // Tables that are folded away wait until they are seen.
  const ready = new WeakSet();
  const enhanceWithin = (part) => {
    for (const table of part.querySelectorAll("table")) {
      if (!ready.has(table) && !table.closest("details:not([open])")) {
        ready.add(table);
        enhance(table);
      }
    }
  };
  const main = document.querySelector("main");
  main.addEventListener("toggle", (event) => enhanceWithin(event.target), true);
  enhanceWithin(document.body);

  // Escape takes a tip away until another is asked for.
  const root = document.documentElement;
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") root.classList.add("quiet-tips"); });
  for (const kind of ["focusin", "pointerover"]) {
    document.addEventListener(kind, () => root.classList.remove("quiet-tips"));
  }

  const unfold = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    if (target instanceof HTMLDetailsElement) target.open = true;
  };
  addEventListener("hashchange", unfold);
  unfold();
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const one of opened) one.open = true;
  });
  addEventListener("afterprint", () => { for (const one of opened) one.open = false; });
})();
