// Buttons, keys, pointers: all of them call the page.

/** Returns the place of a pointer within `box`. */
const within = (box, event) => placeWithin(box, event.clientX, event.clientY);

/** Returns where the point (x, y) of the window is within `box`. */
function placeWithin(box, x, y) {
  const { left, top } = box.getBoundingClientRect();
  return [x - left, y - top];
}

/** A button with `data-key` does what this key does. */
function connectButtons(page) {
  const speed = element("speed");
  for (const value of SPEEDS) speed.add(new Option(`${value} ticks/s`, value));
  page.setSpeed(page.speed);
  speed.addEventListener("change", () => page.setSpeed(Number(speed.value)));
  element("seek").addEventListener("input", (event) => page.seek(Number(event.target.value)));
  document.addEventListener("click", ({ target }) => {
    const key = target.closest("button")?.dataset.key;
    const act = keysOf(page)[key] ?? WATCH_KEYS[key]; // who plays copies links, too, if there is the button
    if (page.painter || FILMLESS.includes(key)) act?.(page);
  });
}

function connectTimeline(page) {
  const highlights = element("highlights");
  highlights.addEventListener("change", () => {
    page.seek(Number(highlights.value));
    highlights.value = "";
  });
  connectStrip(page, element("marks"), () => page.timeline);
  connectStrip(page, element("launches"), () => page.launches);
}

/** Beside a pointer over `box`, `textAt(x, y)` of a place within tells what is there. */
function connectTip(page, box, textAt) {
  const describe = (x, y) => textAt(...placeWithin(box, x, y));
  box.addEventListener("pointermove", (event) => page.tip.show(event, describe));
  box.addEventListener("pointerleave", () => page.tip.hide());
}

/** Pointers over a strip of marks, each at its tick. */
function connectStrip(page, canvas, strip) {
  connectTip(page, canvas, (x) => strip()?.textAt(x) ?? "");
  canvas.addEventListener("click", (event) => {
    const mark = strip()?.markAt(within(canvas, event)[0]);
    if (mark) page.seek(mark.tick);
  });
}

/** Who comes by pointer goes on with the keys of the page: space presses no button again, a list takes no letters. */
function connectFocus() {
  let isPointed = false;
  for (const kind of ["pointerdown", "keydown"]) {
    addEventListener(kind, () => { isPointed = kind === "pointerdown"; }, { capture: true });
  }
  const release = (kind) => ({ target }) => { if (isPointed) target.closest(kind)?.blur(); };
  document.addEventListener("click", release("button"));
  document.addEventListener("change", release("select, [type=range]"));
}

function toggleTheme(page) {
  const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  page.setTheme(theme);
  page.start?.keep({ theme });
}

// ---- keys ----------------------------------------------------------------------------------------

const PAN = 80; // pixels that an arrow moves the board

/** What keys do on both pages. No key has one meaning here and another there. */
const KEYS = {
  ArrowLeft: (page) => page.dragged(PAN, 0),
  ArrowRight: (page) => page.dragged(-PAN, 0),
  ArrowUp: (page, event) => (isRow(event.target) ? page.followNext(-1) : page.dragged(0, PAN)),
  ArrowDown: (page, event) => (isRow(event.target) ? page.followNext(1) : page.dragged(0, -PAN)),
  Escape: (page) => page.follow(0),
  "+": (page) => page.zoom(1.5),
  "=": (page) => page.zoom(1.5),
  "-": (page) => page.zoom(1 / 1.5),
  w: (page) => page.view.fit(),
  m: (page) => page.center(),
  b: (page) => page.toggle("names"),
  a: (page) => page.toggle("attacks"),
  d: (page) => page.toggle("density"),
  c: (page) => page.copyPicture(),
  t: (page) => toggleTheme(page),
};

/** What they do besides while a film is watched; `page.game.keys` is what they do while a seat is played. */
const WATCH_KEYS = {
  " ": (page) => page.play(),
  ",": (page) => page.step(-1),
  ".": (page) => page.step(1),
  "<": (page) => page.step(-10),
  ">": (page) => page.step(10),
  Home: (page) => page.seek(0),
  End: (page) => page.toEnd(),
  "[": (page) => changeSpeed(page, -1),
  "]": (page) => changeSpeed(page, 1),
  PageUp: (page) => page.followNext(-1),
  PageDown: (page) => page.followNext(1),
  l: (page) => page.follow(page.film.standings(page.frame)[0]),
  f: (page) => page.hide(),
  k: (page) => page.copyLink(),
  "?": () => element("manual").showModal(),
};

const FILMLESS = ["t", "?"]; // what their buttons do before there is anything to see

const keysOf = (page) => ({ ...KEYS, ...(page.game?.keys ?? WATCH_KEYS) });

const isRow = (target) => target.matches(".rows .row");

function changeSpeed(page, by) {
  const place = SPEEDS.indexOf(page.speed) + by;
  if (place in SPEEDS) page.setSpeed(SPEEDS[place]);
}

function connectKeys(page) {
  document.addEventListener("keydown", (event) => {
    const act = keysOf(page)[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    const isOwn = event.target.matches("select") || (event.key === " " && event.target.matches("button")) ||
      (event.target.matches("input") && /^(Arrow|Page|Home|End)/.test(event.key));
    const isBusy = document.querySelector("dialog[open]") || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey;
    if (!act || isOwn || isBusy || !page.painter) return;
    event.preventDefault();
    act(page, event);
  });
}

// ---- pointers over the board -----------------------------------------------------------------------

/** Fingers and buttons that are down over the board, and whether they have moved it. */
class Drag {
  constructor(page, box) {
    Object.assign(this, { page, box, points: new Map(), hasMoved: false });
  }

  down(event) {
    if (event.button !== 0 || event.target.closest("button")) return;
    if (!this.points.size) this.hasMoved = false;
    this.points.set(event.pointerId, { x: event.clientX, y: event.clientY });
    this.box.setPointerCapture(event.pointerId);
  }

  move(event) {
    const point = this.points.get(event.pointerId), now = { x: event.clientX, y: event.clientY };
    if (!point) {
      this.#point(event);
      return;
    }
    const dx = now.x - point.x, dy = now.y - point.y;
    if (!this.hasMoved && Math.hypot(dx, dy) < 4) return;
    this.hasMoved = true;
    this.box.classList.add("is-dragging");
    this.page.tip.hide();
    const other = [...this.points].find(([id]) => id !== event.pointerId)?.[1];
    if (other) this.#pinch(point, other, now);
    else this.page.dragged(dx, dy);
    Object.assign(point, now);
  }

  /** Two fingers: what is between them grows as their distance does. */
  #pinch(before, other, now) {
    const distance = (point) => Math.hypot(point.x - other.x, point.y - other.y);
    const middle = placeWithin(this.box, (now.x + other.x) / 2, (now.y + other.y) / 2);
    this.page.view.zoom(distance(now) / Math.max(1, distance(before)), ...middle);
  }

  up(event) {
    if (!this.points.delete(event.pointerId)) return;
    if (!this.points.size) this.box.classList.remove("is-dragging");
    if (this.hasMoved || event.type === "pointercancel") return;
    this.page.pick(...within(this.box, event), event.pointerType);
  }

  #point(event) {
    const { page, box } = this, isOver = !event.target.closest("p");
    const describe = (x, y) => {
      const { seat, text } = page.spotAt(...placeWithin(box, x, y));
      page.standings.mark(page.followed, seat);
      return text;
    };
    page.pointer = isOver ? within(box, event) : null;
    if (isOver) page.tip.show(event, describe, page.ownSeat ? (place) => page.ownCellsUnder(place) : null);
    else page.tip.hide();
  }
}

function connectBoard(page) {
  const box = element("view"), drag = new Drag(page, box);
  const whenReady = (act) => (event) => { if (page.painter) act(event); };
  for (const [kind, act] of Object.entries({ pointerdown: "down", pointermove: "move", pointerup: "up", pointercancel: "up" })) {
    box.addEventListener(kind, whenReady((event) => drag[act](event)));
  }
  box.addEventListener("pointerleave", whenReady(() => {
    page.tip.hide();
    page.pointer = null;
    page.standings.mark(page.followed, page.hovered);
  }));
  box.addEventListener("wheel", whenReady((event) => {
    event.preventDefault();
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
    if (page.game && (event.shiftKey || event.altKey)) {
      page.game.scrollShare((event.deltaY || event.deltaX) * lines); // with shift most browsers turn it
      return;
    }
    const strength = event.ctrlKey ? 0.01 : 0.0015; // pinching a touchpad comes as small steps with ctrl
    page.view.zoom(Math.exp(-event.deltaY * lines * strength), ...within(box, event));
  }), { passive: false });
}

// ---- pointers over the charts ----------------------------------------------------------------------

function connectCharts(page) {
  ["land", "troops", "chances"].forEach((id, number) => {
    const plot = element(id).querySelector(".plot");
    const go = (event) => page.seek(page.charts[number].tickAt(within(plot, event)[0]));
    plot.addEventListener("pointerdown", (event) => {
      if (!page.charts || event.button !== 0) return;
      plot.setPointerCapture(event.pointerId);
      go(event);
    });
    plot.addEventListener("pointermove", (event) => { if (page.charts && event.buttons & 1) go(event); });
    connectTip(page, plot, (x, y) => (page.charts ? chartTip(page, page.charts[number], x, y) : ""));
  });
}

/** Returns what a chart shows at a point of it. */
function chartTip(page, chart, x, y) {
  const { film } = page, tick = chart.tickAt(x), frame = film.frameAt(tick), seat = chart.seatAt(x, y);
  if (frame > chart.horizon || (page.isHiding && tick > film.ticks[page.frame])) return "";
  const when = `tick ${count(film.ticks[frame])}`;
  if (!seat) return when;
  const land = percent(film.land[frame][seat], film.numLand), troops = short(film.troops[frame][seat]);
  return `${when}, ${film.name(seat)}: ${land} of the land, ${troops} troops`;
}

// ---- beginning -------------------------------------------------------------------------------------

const page = new Page();
page.setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
connectButtons(page);
connectFocus();
connectKeys(page);
connectBoard(page);
connectCharts(page);
connectTimeline(page);
addEventListener("hashchange", () => page.goTo(momentOf(location.hash)));
for (const id of ["view", "land", "marks"]) new ResizeObserver(() => page.resize()).observe(element(id));
page.open();
