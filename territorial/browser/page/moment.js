// The moment that is shown, for the followed seat: what it decides, and what the server computes of it.

class Moment {
  #open = new Set();
  #shown = {}; // by panel: tick and seat of what it shows, or has asked for
  #isAsking = false;

  constructor(page) {
    this.page = page;
    this.box = element("moment");
    this.isServed = !element("film").textContent.trim();
    if (this.isServed) this.#addPanels();
    else for (const part of this.box.querySelectorAll("#advise, #see, #advice, #forecast")) part.remove();
    this.hasEngine = Boolean(element("engine").textContent);
    this.box.querySelector("#play-on").hidden = !this.hasEngine && !page.film.header.play_on;
    WATCH_KEYS.j = () => this.playOn();
  }

  #addPanels() {
    this.advice = new Advice(this);
    this.agentView = new AgentView(this);
    this.buttons = { advice: element("advise"), agent_view: element("see") };
    WATCH_KEYS.p = () => this.toggle("advice");
    WATCH_KEYS.o = () => this.toggle("agent_view");
  }

  // As the panels of a page that plays have them.
  get now() { return { seat: this.page.followed }; }
  name = (owner) => ownerName(this.page.film, owner);

  toggle(panel) {
    if (!this.#open.delete(panel)) this.#open.add(panel);
    else this.#show(panel, undefined);
    this.#shown = {};
    this.page.hurry();
  }

  /** Shows what is known, and asks for the rest; the page calls it with all that is read. */
  show() {
    const { page, box } = this, { film, frame } = page, tick = film.ticks[frame], seat = page.game ? 0 : page.followed;
    const height = box.offsetHeight;
    box.hidden = !seat;
    for (const [panel, button] of Object.entries(this.buttons ?? {})) button.setAttribute("aria-pressed", this.#open.has(panel));
    if (!seat) {
      this.agentView?.show(undefined);
      return;
    }
    const next = page.isHiding ? undefined : (film.launches[seat] ?? []).find((launch) => launch.tick >= tick);
    put(box.querySelector(".decided"), !film.alive[frame][seat] ? "" : !next ? "launches nothing from here on" :
      `${next.tick === tick ? "launches" : `holds, and launches at tick ${count(next.tick)}:`} ${shareOf(next.fraction)} at ${this.name(next.target)}`);
    if (box.offsetHeight !== height) page.standings.reveal(seat); // the list has other room
    for (const panel of this.#open) this.#ask(panel, tick, seat);
  }

  async #ask(panel, tick, seat) {
    const asked = `${tick}/${seat}`;
    if (this.#isAsking || this.#shown[panel] === asked) return;
    this.#isAsking = true;
    try {
      const answer = await fetch(`moment/${asked}/${panel}`);
      this.#shown[panel] = asked;
      if (this.#open.has(panel)) this.#show(panel, answer.ok ? await answer.json() : null);
    } catch (error) {
      this.page.say(`The server cannot be reached: ${error.message}.`);
    }
    this.#isAsking = false;
    this.page.wake();
  }

  #show(panel, content) {
    if (panel === "advice") {
      this.advice.show(content);
      const { forecast } = content ?? {};
      put(element("forecast"), forecast ? `${this.name(forecast.owner)} with ${shareOf(forecast.fraction)} ${comesTo(forecast)}` : "");
    } else this.agentView.show(content ?? undefined);
  }

  /** Plays the followed seat from here on, in this page if it has the engine, or else by a command that is copied. */
  async playOn() {
    const { page } = this, { film, frame, followed } = page, tick = film.ticks[frame];
    const command = `${film.header.play_on} --tick ${tick} --seat ${followed}`;
    page.play(false);
    if (!followed) return;
    if (this.hasEngine) page.say(await playOnHere(tick, followed));
    else if (film.header.play_on) page.say(await copied(command) ? `Copied: ${command}` : command);
  }
}
