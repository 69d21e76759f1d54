// Package hostile puts ten sandboxes that harm their node as much as they can beside one that works, and measures
// how much longer the work of that one, and of the API, takes beside them. The goal is 1.5 times, to which TestCrowdsOfEveryKind holds
// them on a machine at rest. TestCrowd, beside which other tests run, holds the API to 4 times, and
// work in a sandbox to 40 times, at which a node counts as standing still.
// It has no code for other packages.
package hostile
