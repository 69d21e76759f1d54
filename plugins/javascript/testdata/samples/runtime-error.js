console.log("before");
function fail() {
  throw new RangeError("boom");
}
fail();
