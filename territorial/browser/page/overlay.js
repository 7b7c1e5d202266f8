// What is seen, in pixels of the window: the board, and over it attacks, donations and labels.

const PLACES_PERIOD = 100; // milliseconds from one search for places to the next while playing

/** Draws on one canvas of the window's pixels, so that the browser has nothing to scale or to lay over another. */
class Overlay {
  ground = new OffscreenCanvas(1, 1); // all but arrows, which move while nothing else does
  #groundContext = this.ground.getContext("2d", { alpha: false });
  #places = new LabelPlaces();
  #fronts = new FrontPlaces();
  #labelPlaces = [];
  #arrowPlaces = [];
  #giftPlaces = [];
  #due = 0;
  #drawn = "";
  isStale = false; // the places are those of a board that has changed since
  #shownGround = "";
  #theme = "";
  #around = ""; // the colour beside the board

  /** `layers`: which of "names", "attacks" and "density" are shown. */
  constructor(canvas, film, palette, layers) {
    Object.assign(this, { canvas, film, layers });
    this.context = canvas.getContext("2d", { alpha: false });
    this.labels = new Labels(this.#groundContext, film);
    this.arrows = new Arrows(this.context, palette);
    this.gifts = new Gifts(this.context, film, palette);
  }

  /** Shows `frame` of the film, whose board is `board`, as `view` has it; `seat` (0: nobody) stands out. */
  show(now, { board, view, frame, tick, painter, isPlaying, game }, seat) {
    const size = [view.width, view.height, devicePixelRatio], { outlines } = game ?? {}, { theme } = document.documentElement.dataset;
    const ground = [...size, view.x, view.y, view.scale, painter.version, outlines?.version, theme, frame, this.layers.names, this.layers.density].join();
    const wanted = [ground, Math.round(tick), seat, this.layers.attacks].join();
    this.isStale ||= wanted !== this.#drawn;
    const isDue = this.isStale && (!isPlaying || now >= this.#due);
    if ((wanted === this.#drawn && !isDue) || !view.width || !view.height) return; // a window may have no size yet
    this.#drawn = wanted;
    if (isDue) {
      this.find(board, view, frame);
      this.#due = now + PLACES_PERIOD;
      this.isStale = false;
    }
    if (ground !== this.#shownGround || isDue) this.#drawGround(view, painter, outlines, theme, frame, ...size);
    this.#shownGround = ground;
    this.context.setTransform(1, 0, 0, 1, 0, 0);
    this.context.drawImage(this.ground, 0, 0);
    this.context.setTransform(size[2], 0, 0, size[2], 0, 0);
    if (this.layers.attacks) {
      this.arrows.draw(this.#arrowPlaces, view, tick, seat);
      this.gifts.draw(this.#giftPlaces, view, tick, seat);
    }
  }

  /** Finds where labels, and arrows of attacks and donations, go. */
  find(board, view, frame) {
    const area = view.seen, { width } = view.painter;
    if (this.layers.names) this.#labelPlaces = this.#places.find(board, width, area);
    if (!this.layers.attacks) return;
    this.#arrowPlaces = this.#fronts.find(board, width, area, this.film.attacks[frame]);
    this.#giftPlaces = this.gifts.find(board, width, frame, this.layers.names ? this.#labelPlaces : []);
  }

  #drawGround(view, painter, outlines, theme, frame, width, height, ratio) {
    const context = this.#groundContext, across = Math.round(width * ratio), along = Math.round(height * ratio);
    for (const canvas of [this.ground, this.canvas]) {
      if (canvas.width !== across || canvas.height !== along) Object.assign(canvas, { width: across, height: along });
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (theme !== this.#theme) [this.#theme, this.#around] = [theme, getComputedStyle(this.canvas).backgroundColor]; // which takes long
    context.fillStyle = this.#around;
    context.fillRect(0, 0, width, height);
    context.imageSmoothingEnabled = (view.scale / painter.size) * ratio < 1.5;
    context.drawImage(painter.canvas, view.x, view.y, painter.width * view.scale, painter.height * view.scale);
    outlines?.draw(context, view, ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (this.layers.names) this.labels.draw(this.#labelPlaces, view, frame, painter, this.layers.density);
  }
}
