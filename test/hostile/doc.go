// Package hostile puts ten sandboxes that harm their node as much as they can beside one that works, and measures
// what that one and the API notice of them. Its tests fail when the work beside them takes more than half as long again.
// It has no code for other packages.
package hostile
