// The page: what is shown when, and what buttons, keys and pointers do.

const SPEEDS = [10, 25, 50, 100, 200, 400, 800, 1600, 3200]; // ticks a second
const LIST_PERIOD = 250; // milliseconds from one change of what is read beside the board to the next while playing
const CHART_PERIOD = 400; // the same for charts, while they change
const OWN_ZOOM = 3; // of the whole board, to see own land in it
const SAID_PERIOD = 3000; // milliseconds that an answer to the user is shown

const element = (id) => document.getElementById(id);

/** Returns a new element with some properties, and what is in it. */
function newElement(tag, properties = {}, ...inside) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...inside);
  return made;
}

/** The film and the moment of it that is shown. */
class Page {
  film = new Film();
  tick = 0;          // the moment, with fractions
  frame = -1;        // the frame that shows it; -1 until there is one
  followed = 0;      // a seat, or 0
  hovered = 0;
  pointer = null;    // where it is in the board's window, null beside
  game = null;       // of who plays a seat, see play.js
  isPlaying = !matchMedia("(prefers-reduced-motion: reduce)").matches;
  speed = 200;
  isHiding = false;  // what is to come
  isLive = false;    // the end of a game that is still being played is shown, and followed
  error = null;
  layers = { names: true, attacks: true, density: false }; // over the board, see `toggle`
  tip = new Tip();
  #wanted = null;    // a moment to go to as soon as it has come in: {tick, seat}, null for neither
  #said = "";
  #saidUntil = 0;
  #listDue = 0;
  #listsAreStale = false;
  #timer = 0;      // until what is stale, or has come in by half, is shown
  #chartsAreStale = false;
  #chartsDue = 0;  // not before this time, while the film is loading
  #isScheduled = false;
  #now = 0;
  #movesAlong = true;  // the view follows the seat, until dragged
  #hasMoved = false;   // another frame, seat or scale than when the view last followed
  #scale = 0;          // of the view, then

  // ---- loading -----------------------------------------------------------------------------------

  /** Loads the film and shows it from the first frame on. */
  async open() {
    document.body.classList.toggle("is-playing", this.isPlaying);
    this.goTo(momentOf(location.hash));
    try {
      await load(this.film, () => this.grown());
    } catch (error) {
      this.error = error;
    }
    if (this.isLive) this.tick = this.film.lastTick; // also where all of the rest has come at once
    this.isLive = false;
    this.grown();
    this.#showStatus();
  }

  /** Lets the game go on in another way after a frame; `header` has what is changed in the film's. */
  branch(frame, header) {
    this.film.cut(frame, header);
    this.palette.take(this.film.header);
    this.#tellAnew();
    this.#color();
    this.frame = Math.min(this.frame, frame);
    this.film.move(this.board, -1, this.frame);
    this.grown();
  }

  /** Shows another game, of as many players on a board of the same size, from its first frame on. */
  showFilm(film) {
    this.film = film;
    this.#begin();
    this.follow(0);
    this.seek(0);
  }

  get isGrowing() { return !this.film.isComplete && !this.error; }

  /** Sees to it that what has come in is shown, and can be reached. */
  grown() {
    if (!this.film.length) return;
    if (!this.painter) this.#begin();
    this.events.update();
    this.#chartsAreStale = true;
    this.#reachWanted();
    this.arrived();
  }

  /** Shows what has come in: of a game that is played, what the film and the session say of a tick in one picture. */
  arrived() {
    if (!this.game || this.game.isInStep) this.wake();
    else this.#wakeLater();
  }

  /** Goes to the moment of a link as soon as there is one, and stops there. */
  goTo(moment) {
    this.#wanted = moment;
    if (moment.tick !== null) this.play(false);
    if (this.painter) this.#reachWanted();
  }

  #reachWanted() {
    if (!this.#wanted) return;
    const { tick, seat } = this.#wanted;
    if (tick !== null && tick > this.film.lastTick && this.isGrowing) return;
    this.#wanted = null;
    if (tick !== null) this.seek(tick);
    if (seat !== null && seat <= this.film.header.num_players) this.follow(seat);
  }

  /** Sets everything up that needs the header. */
  #begin() {
    const { film } = this, { header } = film;
    document.title = element("title").textContent = header.title;
    const inTeams = film.teams.length ? ` in ${film.teams.length} teams` : "";
    element("about").textContent =
      `${header.num_players} players${inTeams} on ${header.height} x ${header.width} cells, ${header.map}`;
    const goal = `The ${inTeams ? "team" : "player"} that holds ${header.win_percent} % of the land or is the last one left wins; ` +
      `at tick ${count(header.max_ticks)} it is the one with the most land.`;
    for (const place of document.querySelectorAll(".goal")) place.textContent = goal;
    document.body.classList.toggle("has-teams", Boolean(inTeams));
    this.palette = new Palette(header);
    this.board = new Uint8Array(film.numCells);
    this.frame = 0;
    film.move(this.board, -1, this.frame);
    this.painter = new Painter(header.height, header.width);
    this.view = new View(element("view"), this.painter, () => this.wake());
    this.view.crop(this.board);
    this.overlay = new Overlay(element("cells"), film, this.palette, this.layers);
    this.#tellAnew();
    this.moment ??= element("moment") && new Moment(this);
    this.charts = [
      new LandChart(element("land"), film, this.palette),
      new TroopsChart(element("troops"), film, this.palette),
      new ChancesChart(element("chances"), film, this.palette),
    ];
    this.#color();
    if (this.game) this.toggle("density", true); // who plays chooses targets by it
  }

  /** Sets up what follows the story of a game, and has the names of its players. */
  #tellAnew() {
    const { film, palette } = this;
    this.events = new GameEvents(film);
    this.timeline = new Timeline(element("marks"), element("highlights"), this.events, palette);
    this.launches = new LaunchStrip(element("launches"), film, palette);
    const chosen = (seat) => this.choose(seat), hovered = (seat) => this.hover(seat);
    this.standings = new Standings(document.querySelector(".rows"), film, palette, chosen, hovered);
  }

  // ---- showing -----------------------------------------------------------------------------------

  /** Sees to it that the next frame of the browser shows what is due. */
  wake() {
    if (this.#isScheduled || !this.painter) return;
    this.#isScheduled = true;
    requestAnimationFrame((now) => this.#animate(now));
  }

  #animate(now) {
    this.#isScheduled = false;
    const elapsed = Math.min(100, now - this.#now); // not the time that the page was hidden
    this.#now = now;
    if (this.isPlaying) this.#advance(elapsed);
    this.#show(now);
    clearTimeout(this.#timer);
    this.#timer = 0;
    if (this.isPlaying && !this.isLive) this.wake(); // what is live moves only as more of it arrives
    else if (this.#chartsAreStale || this.#listsAreStale || this.overlay.isStale) this.#wakeLater();
  }

  #wakeLater() { this.#timer ||= setTimeout(() => this.wake(), LIST_PERIOD); }

  #advance(elapsed) {
    const { lastTick } = this.film;
    this.tick = this.isLive ? lastTick : Math.min(lastTick, this.tick + (this.speed * elapsed) / 1000);
    if (this.tick < lastTick) return;
    if (this.isGrowing) this.isLive = true;
    else this.play(false);
  }

  /** The last tick of the line of time: while what is to come is hidden, how long the game may be. */
  get #end() {
    const { lastTick, header } = this.film;
    return this.isHiding ? Math.max(lastTick, header.max_ticks) : lastTick;
  }

  #show(now) {
    const frame = this.film.frameAt(this.tick), isNew = frame !== this.frame;
    if (isNew) {
      this.film.move(this.board, this.frame, frame);
      this.frame = frame;
      this.#hasMoved = true;
      this.#chartsAreStale ||= this.isHiding;
    }
    this.painter.paint(this.board);
    if (this.followed && this.#movesAlong) this.#moveAlong();
    this.game?.draw();
    this.overlay.show(now, this, this.followed || this.hovered);
    this.#listsAreStale = this.isPlaying && now < this.#listDue;
    if (!this.#listsAreStale) {
      this.#showLists(isNew, now);
      this.#listDue = now + LIST_PERIOD;
    }
    this.#showCharts(now);
  }

  /** Shows what is read rather than seen: for the browser any of it takes longer than the board, so not with every picture. */
  #showLists(isNew, now) {
    this.#listsAreStale = !this.standings.show(this.frame, this.isPlaying, now); // first, as it asks for the layout
    this.game?.show();
    this.#showClock();
    this.#showFollowed();
    if (isNew && this.followed && !this.isPlaying) this.standings.reveal(this.followed);
    const known = this.isHiding ? this.film.ticks[this.frame] : this.film.lastTick;
    this.timeline.show(known, this.#end);
    this.launches.show(this.followed, known, this.#end);
    this.moment?.show();
    this.tip.refresh();
  }

  #showClock() {
    const { film } = this, tick = film.ticks[this.frame], slider = element("seek");
    put(element("clock"), this.isHiding ? `tick ${count(tick)}` : `tick ${count(tick)} of ${count(film.lastTick)}`);
    if (slider.max !== String(this.#end)) slider.max = this.#end;
    if (slider.value !== String(tick)) slider.value = tick;
    for (const chart of this.charts) chart.lift(tick);
    element("live").hidden = !this.isGrowing;
    element("live").setAttribute("aria-pressed", this.isLive);
    this.#showStatus();
  }

  #showStatus() {
    const { film, error } = this, status = element("status"), isLast = this.frame === film.length - 1;
    let text = "";
    if (!film.length) text = error ? `Nothing can be shown: ${error.message}.` : "loading ...";
    else if (error && isLast) text = `The film ends here: ${error.message}.`;
    else if (film.isComplete && isLast) text = this.#outcome();
    else if (this.isLive) text = "Live: the game is being played.";
    else if (!film.isComplete && isLast) text = "The game is still being played ...";
    if (performance.now() < this.#saidUntil) text = this.#said;
    put(status, text);
    status.hidden = !text;
  }

  /** Shows `text` for some seconds, or for a `period` in milliseconds; to a player, until there is something else to say. */
  say(text, period = SAID_PERIOD) {
    if (this.game) {
      this.game.say(text);
      return;
    }
    this.#said = text;
    this.#saidUntil = text ? performance.now() + period : 0;
    this.#showStatus();
    setTimeout(() => this.#showStatus(), period + 50);
  }

  #outcome() {
    const { film } = this, last = film.length - 1, [first] = film.standings(last);
    return `The end: ${film.sideName(first)} is first with ${percent(film.sideLand(first, last), film.numLand)} of the land.`;
  }

  #showCharts(now) {
    const isChanging = this.isGrowing || (this.isHiding && this.isPlaying);
    if (!this.#chartsAreStale || (isChanging && now < this.#chartsDue)) return;
    const horizon = this.isHiding ? this.frame : this.film.length - 1;
    for (const chart of this.charts) {
      chart.draw(this.followed || this.hovered, horizon, this.#end);
      chart.lift(this.film.ticks[this.frame]);
    }
    this.#chartsAreStale = false;
    this.#chartsDue = now + CHART_PERIOD;
  }

  /** Keeps the followed seat in the middle, smoothly while playing. */
  #moveAlong() {
    const isZoomed = this.view.scale !== this.#scale;
    this.#scale = this.view.scale;
    if (this.view.isFitted || !(this.isPlaying || this.#hasMoved || isZoomed)) return;
    const center = centerOf(this.board, this.painter.width, this.followed);
    if (center) this.view.approach(center.row, center.column, this.isPlaying ? 0.12 : 1);
    this.#hasMoved = false;
  }

  // ---- what can be done --------------------------------------------------------------------------

  /** What is to be read is shown with the next picture: the user has done something. */
  hurry() {
    this.#listDue = 0;
    this.wake();
  }

  play(isPlaying = !this.isPlaying) {
    const { film } = this;
    if (isPlaying && film.isComplete && this.tick >= film.lastTick) this.tick = 0;
    this.isPlaying = isPlaying;
    this.isLive &&= isPlaying;
    this.#now = performance.now();
    document.body.classList.toggle("is-playing", isPlaying);
    this.wake();
  }

  seek(tick) {
    this.tick = Math.min(this.film.lastTick, Math.max(0, tick));
    this.isLive = false;
    this.hurry();
  }

  /** Stops and goes `frames` on, or back. */
  step(frames) {
    const frame = Math.min(this.film.length - 1, Math.max(0, this.frame + frames));
    this.play(false);
    this.seek(this.film.ticks[frame]);
  }

  /** Goes to the end; of a game that is still being played, to stay there. */
  toEnd() {
    this.seek(this.film.lastTick);
    this.isLive = this.isGrowing;
    if (this.isLive) this.play(true);
  }

  /** Shows, or no longer shows, what lies after the present moment. */
  hide(isHiding = !this.isHiding) {
    this.isHiding = isHiding;
    element("hide").setAttribute("aria-pressed", isHiding);
    this.#listDue = 0;
    this.#redraw();
  }

  /** Shows, or no longer shows, "names", "attacks", or "density", which is troops per cell on the labels. */
  toggle(layer, isShown = !this.layers[layer]) {
    this.layers[layer] = isShown;
    element(layer).setAttribute("aria-pressed", isShown);
    if (layer === "density" && isShown) this.toggle("names", true); // it stands on the labels
    this.wake();
  }

  async copyLink() { this.say(await shareLink(this.film.ticks[this.frame], this.followed)); }

  async copyPicture() {
    const { film, frame } = this, tick = film.ticks[frame];
    const sides = film.teams.length ? film.teamStandings(frame).map(({ seats }) => seats[0]) : film.standings(frame);
    const shares = sides.slice(0, 3).map((seat) => `${film.sideName(seat)} ${percent(film.sideLand(seat, frame), film.numLand)}`);
    const caption = `${film.header.title}, tick ${count(tick)}: ${shares.join(", ")}`;
    this.say(await sharePicture(pictureOf(this, caption), `territorial-${tick}.png`));
  }

  setSpeed(speed) {
    this.speed = speed;
    element("speed").value = speed;
  }

  /** Makes `seat` stand out everywhere; 0 follows nobody. */
  follow(seat) {
    this.followed = seat;
    this.#movesAlong = this.#hasMoved = true;
    this.#color();
    if (seat) this.standings.reveal(seat);
  }

  /** Follows `seat`, or nobody if it is followed already. */
  choose(seat) { this.follow(seat === this.followed ? 0 : seat); }

  /** Makes `seat` stand out while nobody is followed; 0 ends that. */
  hover(seat) {
    if (seat === this.hovered) return;
    this.hovered = seat;
    this.#color();
  }

  /** Follows whom the standings have `places` below the followed seat; nobody is above the first. */
  followNext(places) {
    const { order } = this.standings, place = order.indexOf(this.followed);
    const next = place < 0 ? 0 : Math.min(order.length - 1, Math.max(0, place + places));
    this.follow(order[next]);
    this.standings.moveFocus();
  }

  #color() {
    const { fill, side } = this.palette.pixels(this.followed || this.hovered);
    if (fill !== this.painter.fill) this.painter.setColors(fill, side);
    this.standings.mark(this.followed, this.hovered);
    this.#showFollowed();
    this.#redraw();
  }

  /** Charts are to be drawn anew at once. */
  #redraw() {
    this.#chartsAreStale = true;
    this.#chartsDue = 0;
    this.wake();
  }

  #showFollowed() {
    const box = element("followed"), { film, followed, frame } = this;
    box.hidden = !followed;
    if (!followed || frame < 0) return;
    box.querySelector(".swatch").style.background = this.palette.texts[followed];
    const land = `${percent(film.land[frame][followed], film.numLand)} of the land`;
    const facts = film.alive[frame][followed]
      ? `${land}, ${short(film.troops[frame][followed])} troops`
      : `out at tick ${count(film.diedAt[followed] ?? 0)}`;
    const team = film.teamOf(followed) ? ` (${film.sideName(followed)})` : "";
    put(box.querySelector(".text"), `${film.name(followed)}${team}: ${facts}`);
  }

  setTheme(theme) {
    document.documentElement.dataset.theme = theme;
    this.#redraw();
  }

  resize() {
    this.view?.resize();
    this.#redraw();
  }

  /** The user moved the board: it no longer moves by itself until somebody else is followed. */
  dragged(dx, dy) {
    this.#movesAlong = false;
    this.view.pan(dx, dy);
  }

  /** Zooms around the pointer, or where it is not over the board, around who is followed, own land, or the middle. */
  zoom(factor) {
    const { x, y, scale, width, height } = this.view, center = this.#ownCenter;
    const place = center && [x + center.column * scale, y + center.row * scale];
    const isSeen = place && place[0] >= 0 && place[0] < width && place[1] >= 0 && place[1] < height;
    this.view.zoom(factor, ...(this.pointer ?? (isSeen ? place : [])));
  }

  /** Has the followed seat, or the own one, in the middle, and near if the whole board was seen. */
  center() {
    const center = this.#ownCenter;
    if (!center) return;
    this.#movesAlong = true;
    if (this.view.isFitted) this.view.zoom(OWN_ZOOM);
    this.view.approach(center.row, center.column, 1);
  }

  get #ownCenter() {
    const seat = this.followed || this.game?.now?.seat;
    return seat ? centerOf(this.board, this.painter.width, seat) : null;
  }

  /** A click or, with `kind` "touch", a tap at a point of the board's window: it plays, or follows who is there. */
  pick(x, y, kind) {
    const cell = this.view.cellAt(x, y);
    if (!this.game || this.game.isSpectator) this.choose(this.spotAt(x, y).seat);
    else if (cell) this.game.pick(this.board[cell.cell], kind);
  }

  /** Returns what is under a point of the board's window: {seat, text}. */
  spotAt(x, y) {
    const cell = this.view.cellAt(x, y);
    if (!cell) return { seat: 0, text: "" };
    const owner = this.board[cell.cell], isSeat = owner !== NEUTRAL && owner !== BLOCKED;
    const who = ownerName(this.film, owner);
    const seat = isSeat ? owner : 0;
    if (this.ownSeat) return { seat, text: `${who}: ${this.game.hint(owner)}` }; // all else is beside the board
    const facts = isSeat ? factsOf(this.film, this.board, this.frame, owner) : [];
    return { seat, text: [`${who} (row ${cell.row}, column ${cell.column})`, ...facts].join("\n") };
  }

  /** The seat that the user plays; 0 for who watches, or is out. */
  get ownSeat() {
    const now = this.game?.now;
    return now?.is_alive && !now.is_over ? now.seat : 0;
  }

  /** Returns how many cells of one's own land lie under a box of the window. */
  ownCellsUnder({ left, top, width, height }) {
    const { board, ownSeat, view, painter } = this;
    const area = view.under(...placeWithin(view.box, left, top), width, height);
    let count = 0;
    for (let row = area.top; row < area.bottom; row++) {
      const cells = board.subarray(row * painter.width + area.left, row * painter.width + area.right);
      count += cells.filter((owner) => owner === ownSeat).length;
    }
    return count;
  }
}
