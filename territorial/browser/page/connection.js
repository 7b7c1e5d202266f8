// What a page that plays tells its server, and what it is told: see territorial/browser/play_server.py.

const SECONDS_OF_SILENCE = 5; // after these the page says that it hears nothing

/** The connection to the session: commands go out, situations come in. */
class ServerConnection {
  #last = Promise.resolve(); // the answer to the command before: they arrive in the order in which they were given
  #heard = performance.now();
  #isSilent = false;

  /**
   * `arrived(situation)` is called for each that comes, `lost(reason)` once there are no more, and
   * `silent(seconds)` every second in which nothing has come for too long, at last with 0.
   */
  constructor({ arrived, silent, lost }) {
    Object.assign(this, { arrived, silent, lost });
  }

  /** Reads situations as long as there are any. */
  async listen() {
    let reason = "the server has stopped", watch;
    try {
      const answer = await fetch("seat", { cache: "no-store" });
      if (!answer.ok) throw new Error(`the server answers ${answer.status} ${answer.statusText}`);
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      watch = setInterval(() => this.#listenForSilence(), 1000);
      let rest = "";
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        this.#heard = performance.now();
        const lines = (rest + value).split("\n");
        rest = lines.pop();
        const last = lines.findLast((line) => line); // empty ones only say that the server is there
        if (last) this.arrived(JSON.parse(last));
      }
    } catch (error) {
      reason = error.message;
    }
    clearInterval(watch);
    this.lost(reason);
  }

  /** The server sends a line a second at least. */
  #listenForSilence() {
    const seconds = Math.floor((performance.now() - this.#heard) / 1000);
    if (seconds >= SECONDS_OF_SILENCE) this.silent(seconds);
    else if (this.#isSilent) this.silent(0);
    this.#isSilent = seconds >= SECONDS_OF_SILENCE;
  }

  /** Sends a command after those before it and returns why it was refused, as a sentence; "" if it was not. */
  send(command) {
    return (this.#last = this.#last.then(() => this.post(command)));
  }

  /** Sends a command at once, whatever is under way; returns what `send` does. */
  async post(command) {
    const body = JSON.stringify(command), sentence = (reason) => `${reason[0].toUpperCase()}${reason.slice(1)}.`;
    try {
      const answer = await fetch("act", { method: "POST", headers: { "Content-Type": "application/json" }, body });
      const reply = await answer.json();
      if (reply.error) return sentence(reply.error);
      this.arrived(reply);
      return "";
    } catch (error) {
      return sentence(`the server cannot be reached: ${error.message}`);
    }
  }
}
