// Begins the page of a game that a server plays.

delete WATCH_KEYS.k; // the address of this page is no link to pass on: who has it plays the seat
element("link").hidden = true;
page.game = new Game(page, (hooks) => new ServerConnection(hooks));
page.game.open();
