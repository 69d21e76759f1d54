interface Point { x: number } console.log("before");
function fail(point: Point): never {
  throw new RangeError("boom" + (point.x as number));
}
fail({ x: 1 });
