// Files of replays that are dropped on the page, or chosen: it shows their games, which can be played on.

const REFUSED_PERIOD = 10_000; // milliseconds that the reason is shown

/** Shows the game of a file, if it is a replay that the page can play; else says why not. */
async function openReplay(file) {
  page.say("Reading the replay ...");
  const refused = await local.showReplay(file);
  page.say(refused, REFUSED_PERIOD);
  if (!refused) page.play(true);
}

/** Shows where a file is dropped while one is over the page, and a button that asks for one. */
function connectReplays() {
  const input = newElement("input", { type: "file", accept: ".replay", hidden: true });
  const title = "watch a replay, and play it on (U); or drop its file on the page", onclick = () => input.click();
  const button = newElement("button", { type: "button", id: "open", title, ariaLabel: "open a replay", onclick });
  button.innerHTML = '<span class="long">open</span><span class="short">▤</span>';
  const target = newElement("p", { id: "drop", hidden: true }, "Drop a replay here to watch it and to play it on.");
  element("link").before(button, input);
  element("manual").querySelector("dl").insertAdjacentHTML("beforeend", "<dt>U</dt><dd>watch a replay from a file; playing it on, too</dd>");
  document.body.append(target);
  WATCH_KEYS.u = () => input.click();
  input.addEventListener("change", () => {
    const [file] = input.files;
    if (file) openReplay(file);
    input.value = ""; // the same file can be chosen again
  });
  const ofFiles = (act) => (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    act(event.dataTransfer.files);
  };
  document.addEventListener("dragover", ofFiles(() => { target.hidden = false; }));
  document.addEventListener("dragleave", (event) => { target.hidden ||= !event.relatedTarget; });
  document.addEventListener("drop", ofFiles(([file]) => {
    target.hidden = true;
    if (file) openReplay(file);
  }));
}

connectReplays();
