// What an agent sees of the game on the seat: the mask, fronts and needs, the form "pairs", pooled planes.

/** Milliseconds from one look to the next: nobody reads faster, and the table takes longer than the board. */
const LOOK_MS = 125;

class AgentView {
  #columns = ""; // the candidates of the table
  #images = [];
  #view = null; // what is to be seen
  #timer = 0; // until the next look

  constructor(game) {
    this.game = game;
    this.box = element("agent_view");
  }

  /** Shows what the session tells: undefined while the panel is closed, null if there is nothing to see. */
  show(view) {
    this.box.hidden = view === undefined;
    document.body.classList.toggle("is-seeing", !this.box.hidden);
    element("see").setAttribute("aria-pressed", !this.box.hidden);
    this.#view = view;
    if (view && !this.#timer) this.#look();
  }

  #look() {
    const view = this.#view, { legal, num_legal: numLegal, num_actions: numActions } = view;
    const targets = ["hold", ...legal.map((owner) => this.game.name(owner))].join(", ");
    put(this.box.querySelector(".mask"), `${numLegal} of ${numActions} actions are legal: ${targets}`);
    this.#showPairs(view);
    const own = view.own.map(([name, number]) => [name, [decimal(number)]]);
    fillRows(this.box.querySelector(".own").tBodies[0], own);
    this.#showPlanes(view.planes);
    this.#timer = setTimeout(() => {
      this.#timer = 0;
      if (this.#view && this.#view !== view) this.#look();
    }, LOOK_MS);
  }

  #showPairs({ owners, fronts, needs, pairs }) {
    const { tHead: head, tBodies: [body] } = this.box.querySelector(".pairs");
    if (this.#columns !== String(owners)) head.replaceChildren(this.#headOf(owners));
    this.#columns = String(owners);
    fillRows(body, [["front, cells", fronts.map(count)], ["need, troops", needs.map(short)],
      ...pairs.map(([name, numbers]) => [name, numbers.map(decimal)])]);
  }

  #headOf(owners) {
    const head = newRow("td", "", "th", owners.map((owner) => (owner === NEUTRAL ? "free" : `P${owner}`)));
    [...head.cells].slice(1).forEach((cell, n) => {
      cell.title = this.game.name(owners[n]);
      cell.style.borderBottomColor = this.game.page.palette.texts[owners[n]];
    });
    return head;
  }

  #showPlanes({ names, height, width, data }) {
    if (!this.#images.length) {
      const size = { height, width };
      this.#images = names.map((ariaLabel) => newElement("canvas", { ...size, ariaLabel, role: "img" }));
      const captions = names.map((name) => newElement("figcaption", {}, name));
      const figures = captions.map((caption, n) => newElement("figure", {}, this.#images[n], caption));
      this.box.querySelector(".planes").replaceChildren(...figures);
    }
    this.#images.forEach((canvas, n) => {
      const image = new ImageData(width, height), pixels = new Uint32Array(image.data.buffer), levels = atob(data[n]);
      for (let i = 0; i < levels.length; i++) pixels[i] = 0xff000000 | (levels.charCodeAt(i) * 0x10101);
      canvas.getContext("2d").putImageData(image, 0, 0);
    });
  }
}

const decimal = (number) => (Math.round(100 * number) / 100 + 0).toFixed(2); // and no "-0.00"

/** Shows rows of a name and texts in a table, whose cells stay as long as there are as many. */
function fillRows(body, rows) {
  const isSame = body.rows.length === rows.length && body.rows[0].cells.length === rows[0][1].length + 1;
  if (!isSame) body.replaceChildren(...rows.map(([name, texts]) => newRow("th", name, "td", texts)));
  rows.forEach(([, texts], row) => texts.forEach((text, n) => put(body.rows[row].cells[n + 1], text)));
}

/** Returns a row of a table: a cell that names it, and others. */
function newRow(nameTag, name, tag, texts) {
  const cell = (kind, text, scope) => newElement(kind, kind === "th" ? { scope } : {}, text);
  return newElement("tr", {}, cell(nameTag, name, "row"), ...texts.map((text) => cell(tag, text, "col")));
}
