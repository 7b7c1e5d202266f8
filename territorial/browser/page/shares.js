// How much each of the number keys sends: one of the ten fractions of the rules, as the player likes it.

const SHARES_KEPT = "territorial.shares";
const DIGITS = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "0"];

/** Returns a fraction in per cent, such as "1.6 %". */
const shareText = (share) => shareOf(FRACTIONS[share]);

/** The numbers of the fractions, by the place of their key. */
class Shares {
  constructor() {
    this.keys = this.#kept() ?? FRACTIONS.map((_, share) => share);
    this.box = element("shares");
    this.box.querySelector("button").before(...DIGITS.map((digit, place) => this.#choice(digit, place)));
    this.box.querySelector("button").addEventListener("click", () => this.#reset());
    this.#show();
  }

  /** Returns what this browser has kept; null if that is nothing, or nothing that can be used. */
  #kept() {
    const kept = keptUnder(SHARES_KEPT);
    const isUsable = Array.isArray(kept) && kept.length === DIGITS.length && kept.every((share) => Number.isInteger(share) && share in FRACTIONS);
    return isUsable ? kept : null;
  }

  #keep() { keepUnder(SHARES_KEPT, this.keys); }

  #choice(digit, place) {
    const select = newElement("select", {}, ...FRACTIONS.map((_, share) => new Option(shareText(share), share)));
    select.addEventListener("change", () => {
      this.keys[place] = Number(select.value);
      this.#keep();
    });
    return newElement("label", {}, `${digit} `, select);
  }

  #reset() {
    this.keys = FRACTIONS.map((_, share) => share);
    this.#keep();
    this.#show();
  }

  #show() {
    this.box.querySelectorAll("select").forEach((select, place) => { select.value = this.keys[place]; });
  }
}
