/* Starts Python before the page is complete where a link asks for another answer than the page
   brings: then every moment counts. */

import { engine } from "./engine.js";

if (location.hash.includes("=")) engine.start();
