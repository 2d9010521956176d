// Before anything is painted: the colours that were chosen here, else those of the system.
"use strict";

document.documentElement.dataset.theme = localStorage.getItem("ojs.theme") || "system";
