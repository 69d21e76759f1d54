/** The package as browsers load it. @module */

import { browser } from "./platform/browser.js";
import { use } from "./platform/platform.js";

use(browser);

export * from "./main.js";
