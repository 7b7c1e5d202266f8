"use strict";
// What a page that plays tells its server, and what it is told: see territorial/play/server.py.

/** The connection to the session: commands go out, situations come in. */
class Orders {
  #last = Promise.resolve(); // the answer to the command before: they arrive in the order in which they were given

  /** `arrived(situation)` is called for each that comes, `lost(reason)` once there are no more. */
  constructor(arrived, lost) {
    Object.assign(this, { arrived, lost });
  }

  /** Reads situations as long as there are any. */
  async listen() {
    let reason = "the server has stopped";
    try {
      const answer = await fetch("seat", { cache: "no-store" });
      if (!answer.ok) throw new Error(`the server answers ${answer.status} ${answer.statusText}`);
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        const lines = (rest + value).split("\n");
        rest = lines.pop();
        const last = lines.findLast((line) => line); // empty ones only say that the server is there
        if (last) this.arrived(JSON.parse(last));
      }
    } catch (error) {
      reason = error.message;
    }
    this.lost(reason);
  }

  /** Sends a command and returns why it was refused; "" if it was not. */
  send(command) {
    return (this.#last = this.#last.then(() => this.#post(command)));
  }

  async #post(command) {
    const body = JSON.stringify(command);
    try {
      const answer = await fetch("act", { method: "POST", headers: { "Content-Type": "application/json" }, body });
      const told = await answer.json();
      if (!answer.ok) return told.error;
      this.arrived(told);
      return "";
    } catch (error) {
      return `the server cannot be reached: ${error.message}`;
    }
  }
}
