"use strict";
// What a page does where scripts run. A timeline gets a cursor with the values at
// it, and zoom; stacks get zoom, and keys as in any tree. Elsewhere, and on paper,
// they are pictures of one moment.

const count = n => n.toLocaleString("en-US");

function bytes(n) {
  if (n < 1024) return n + " B";
  const units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  let unit = 0;
  for (n /= 1024; n >= 1023.95 && unit < units.length - 1; n /= 1024) unit++;
  return n.toFixed(1) + " " + units[unit];
}

function timeline(figure) {
  const svg = figure.querySelector("svg");
  const {width, height} = svg.viewBox.baseVal;
  const data = JSON.parse(figure.querySelector("script").textContent);
  const columns = data.at.length;
  const paths = [...svg.querySelectorAll("path")]; // the bands, then reserved
  const marks = [...svg.querySelectorAll("line[data-event]")];
  const texts = [figure.querySelector(".now"), ...figure.querySelectorAll("output")];
  const rest = texts.map(text => text.textContent);
  const picture = paths.map(path => path.getAttribute("d"));
  const places = marks.map(mark => mark.getAttribute("x1"));
  const shown = Number((svg.querySelector(".at") || svg.querySelector(".peak")).dataset.event);
  let from = 0, to = columns; // the columns in view
  let at = null, pinned = false, pressed = null;

  const shape = name => {
    const made = document.createElementNS(svg.namespaceURI, name);
    made.setAttribute("class", name === "line" ? "cursor" : "chosen");
    made.setAttribute(name === "line" ? "y2" : "height", height);
    return svg.appendChild(made);
  };
  const chosen = shape("rect"), cursor = shape("line");
  const add = (name, text) => {
    const made = figure.insertBefore(document.createElement(name), texts[0]);
    made.textContent = text;
    return made;
  };
  add("p", "Drag to zoom in; Esc or a double click zooms out. A click or the arrow keys keep the cursor.").className = "dim hint";
  const whole = add("button", "Whole timeline");

  const place = column => (column - from) / (to - from) * width;
  const level = n => height * (1 - n / data.top);
  const first = column => Math.floor(data.events * column / columns); // event of a column

  // The cursor is a slider, whose value a screen reader tells.
  svg.setAttribute("role", "slider");
  svg.setAttribute("aria-valuemin", 0);
  svg.setAttribute("aria-valuemax", data.events - 1);
  const tell = event => {
    svg.setAttribute("aria-valuenow", event);
    svg.setAttribute("aria-valuetext", texts[0].textContent);
  };

  // show puts the cursor on a column, or nowhere.
  function show(column) {
    at = column;
    cursor.style.display = column === null || column < from || column >= to ? "none" : "";
    if (column === null) {
      texts.forEach((text, i) => { text.textContent = rest[i]; });
      tell(shown);
      return;
    }
    cursor.setAttribute("x1", place(column + 0.5));
    cursor.setAttribute("x2", place(column + 0.5));
    const values = data.bands.map(band => band[column]);
    const total = values.reduce((sum, n) => sum + n, 0);
    const last = Math.max(first(column + 1) - 1, first(column));
    texts[0].textContent = "After event " + count(data.at[column]) +
      (last > first(column) ? ", the highest of " + count(first(column)) + " to " + count(last) : "") +
      (data.time ? ", at " + (data.time[column] / 1e6).toFixed(3) + " s" : "") + ": " + bytes(total) + " live";
    [...values, data.reserved[column]].forEach((n, i) => { texts[i + 1].textContent = bytes(n); });
    tell(data.at[column]);
  }

  // steps is a path along levels, forwards or backwards.
  function steps(levels, backwards) {
    let path = "";
    for (let k = 0; k < to - from; k++) {
      const column = backwards ? to - 1 - k : from + k;
      path += (k ? "V" + level(levels[column]) : (backwards ? "L" : "M") + place(column + (backwards ? 1 : 0)) + " " + level(levels[column])) +
        "H" + place(column + (backwards ? 0 : 1));
    }
    return path;
  }

  // view shows some of the columns.
  function view(begin, end) {
    from = Math.max(0, begin);
    to = Math.min(columns, Math.max(end, from + 2));
    const all = from === 0 && to === columns;
    whole.hidden = all;
    let floor = new Array(columns).fill(0);
    data.bands.forEach((band, i) => {
      const ceiling = floor.map((n, column) => n + band[column]);
      paths[i].setAttribute("d", all ? picture[i] : steps(ceiling, false) + steps(floor, true) + "Z");
      floor = ceiling;
    });
    const line = paths.length - 1;
    paths[line].setAttribute("d", all ? picture[line] : steps(data.reserved, false));
    marks.forEach((mark, i) => {
      const x = all ? Number(places[i]) : place(mark.dataset.event * columns / data.events);
      mark.setAttribute("x1", x);
      mark.setAttribute("x2", x);
      mark.style.display = x < 0 || x > width ? "none" : "";
    });
    figure.querySelector(".from").textContent = count(first(from));
    figure.querySelector(".to").textContent = count(first(to) - 1);
    show(at);
  }

  // column returns the one under the pointer.
  function column(event) {
    const box = svg.getBoundingClientRect();
    const x = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1 - 1e-9);
    return from + Math.floor(x * (to - from));
  }

  function choose(a, b) {
    chosen.setAttribute("x", place(Math.min(a, b)));
    chosen.setAttribute("width", place(Math.max(a, b) + 1) - place(Math.min(a, b)));
    chosen.style.display = a === b ? "none" : "";
  }

  svg.addEventListener("pointermove", event => {
    if (pressed !== null) choose(pressed, column(event));
    if (pressed !== null || !pinned) show(column(event));
  });
  svg.addEventListener("pointerdown", event => {
    pressed = column(event);
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener("pointerup", event => {
    const a = pressed, b = column(event);
    pressed = null;
    choose(0, 0);
    if (a === null) return;
    if (a === b) {
      pinned = true;
      show(b);
    } else {
      view(Math.min(a, b), Math.max(a, b) + 1);
    }
  });
  svg.addEventListener("pointerleave", () => { if (!pinned && pressed === null) show(null); });
  const reset = () => {
    pinned = false;
    at = null;
    view(0, columns);
  };
  whole.addEventListener("click", reset);
  svg.addEventListener("dblclick", reset);
  svg.addEventListener("keydown", event => {
    const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (event.key === "Escape") {
      reset();
    } else if (step) {
      pinned = true;
      show(Math.min(Math.max((at === null ? from : at) + step, from), to - 1));
      event.preventDefault();
    }
  });
  choose(0, 0);
  reset();
}

// flame zooms in to a box, which then is as wide as the page, with all below it.
function flame(figure) {
  const tree = figure.querySelector(".flame"), named = figure.querySelector(".named");
  const root = tree.querySelector("li"), boxes = [...tree.querySelectorAll("li")];
  const widths = new Map(boxes.map(box => [box, box.style.width]));
  const boxOf = event => event.target.closest("li");
  const above = box => box.parentElement.closest("li");
  let focused = root;

  const rest = "A click, or Enter after the arrow keys, makes a box as wide as the page; Esc shows all.";
  const tell = box => { named.textContent = box ? box.getAttribute("aria-label") : rest; };

  function zoom(box) {
    for (const other of boxes) {
      const on = other.contains(box);
      other.style.width = on ? "100%" : widths.get(other);
      other.classList.toggle("out", !on && !box.contains(other));
    }
  }

  function focus(box) {
    focused.tabIndex = -1;
    focused = box;
    box.tabIndex = 0;
    box.focus();
  }

  const keys = {
    ArrowRight: box => box.querySelector("li:not(.out)"),
    ArrowLeft: above,
    ArrowDown: box => seen()[seen().indexOf(box) + 1],
    ArrowUp: box => seen()[seen().indexOf(box) - 1],
    Home: () => root,
    End: () => seen().pop(),
  };
  const seen = () => boxes.filter(box => !box.classList.contains("out"));

  boxes.forEach(box => { box.tabIndex = -1; });
  root.tabIndex = 0;
  tell(null);
  tree.addEventListener("click", event => {
    const box = boxOf(event);
    if (box) zoom(box);
  });
  tree.addEventListener("pointerover", event => tell(boxOf(event)));
  tree.addEventListener("pointerleave", () => tell(null));
  tree.addEventListener("focusin", event => tell(boxOf(event)));
  tree.addEventListener("keydown", event => {
    if (keys[event.key]) focus(keys[event.key](focused) || focused);
    else if (event.key === "Enter" || event.key === " ") zoom(focused);
    else if (event.key === "Escape") zoom(root);
    else return;
    event.preventDefault();
  });
}

document.querySelectorAll("figure.timeline").forEach(timeline);
document.querySelectorAll("figure.stacks").forEach(flame);
