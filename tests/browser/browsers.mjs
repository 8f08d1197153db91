// Which browsers of the system's packages the tests drive, and how each is started: so that it asks
// nobody for anything by itself.

import { existsSync } from "node:fs";
import { chromium, firefox } from "playwright-core";

const BROWSERS = {
  chromium: {
    type: chromium,
    paths: [
      process.env.CHROME_PATH,
      "/usr/bin/chromium",
      "/usr/bin/chromium-browser",
      "/usr/bin/google-chrome",
    ],
    options: {
      args: [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ],
    },
  },
  // Not Playwright's own build: the Firefox that people have, over WebDriver BiDi.
  firefox: {
    type: firefox,
    paths: [process.env.FIREFOX_PATH, "/usr/bin/firefox-esr", "/usr/bin/firefox"],
    options: {
      channel: "moz-firefox",
      headless: true,
      // Lets a page read what its button has copied; there is no permission to give for that.
      firefoxUserPrefs: { "dom.events.testing.asyncClipboard": true },
    },
  },
};

/** Where a browser is, or undefined. */
const browserPath = (name) =>
  BROWSERS[name].paths.filter(Boolean).find((path) => existsSync(path));

export function browserType(name) {
  if (name === "firefox") answerForOlderFirefox();
  return BROWSERS[name].type;
}

export function launchOptions(name) {
  const executablePath = browserPath(name);
  if (!executablePath) throw new Error(`no ${name} found: run \`make ${name}\``);
  return { executablePath, ...BROWSERS[name].options };
}

const ONLY_CHROMIUM_S = [
  "bypassCSP",
  "colorScheme",
  "forcedColors",
  "hasTouch",
  "javaScriptEnabled",
  "reducedMotion",
];

/** The options of a context; what this browser would silently leave out is an error. */
export function contextOptions(name, options) {
  if (name === "chromium") return options;
  const refused = ONLY_CHROMIUM_S.filter((each) => each in options);
  if (refused.length > 0) throw new Error(`${name} cannot do this here: ${refused.join(", ")}`);
  return options;
}

let isAnswering = false;

/**
 * Playwright sends every new context a command that Firefox's extended support releases do not
 * know yet, and gives up on the answer. No test in Firefox asks for a colour scheme, which is all
 * that it would set: the answer may as well be yes.
 */
function answerForOlderFirefox() {
  if (isAnswering) return;
  isAnswering = true;
  const { _bidiFirefox } = firefox._connection.toImpl(firefox);
  const server = Object.getPrototypeOf(_bidiFirefox);
  const { connectToTransport } = server;
  server.connectToTransport = function connect(transport, options) {
    const send = transport.send.bind(transport);
    transport.send = (message) => {
      if (message.method !== "emulation.setMediaFeaturesOverride") return send(message);
      setImmediate(() => transport.onmessage({ type: "success", id: message.id, result: {} }));
    };
    return connectToTransport.call(this, transport, options);
  };
}
