"""A notebook's record of earlier cells: In, Out and the names that begin with an underscore."""

KEPT_INPUTS = 1000  # cells
KEPT_INPUT = 16 << 10  # characters of one
KEPT_OUTPUTS = 50  # values


class History:
    """The last cells and values, under names that user code can read."""

    def __init__(self):
        self.inputs, self.outputs = [""], {}
        self.recalled = [None] * 3

    def place(self, names):
        names["In"] = names["_ih"] = self.inputs
        names["Out"] = names["_oh"] = self.outputs

    def begin(self, names, number, source):
        """Records a cell that is about to run."""
        inputs = self.inputs
        while len(inputs) < number:
            inputs.append("")
        names["_iii"], names["_ii"], names["_i"] = names.get("_ii", ""), names.get("_i", ""), inputs[-1]
        source = source if len(source) <= KEPT_INPUT else source[:KEPT_INPUT]
        inputs.append(source)
        names["_i%d" % number] = source
        if number > KEPT_INPUTS:
            inputs[number - KEPT_INPUTS] = ""
            names.pop("_i%d" % (number - KEPT_INPUTS), None)

    def keep(self, names, number, value):
        """Records the value of a cell. The names of the last three stay unchanged if the user's
        code has assigned to them."""
        if all(names.get(name) is shown for name, shown in zip(RECALLED, self.recalled)):
            self.recalled = [value] + self.recalled[:2]
            names.update(zip(RECALLED, self.recalled))
        if value is self.outputs:
            return
        self.outputs[number] = names["_%d" % number] = value
        if len(self.outputs) > KEPT_OUTPUTS:
            oldest = next(iter(self.outputs))
            del self.outputs[oldest]
            names.pop("_%s" % oldest, None)

    def forget(self, names):
        """Releases the values."""
        for number in self.outputs:
            names.pop("_%s" % number, None)
        self.outputs.clear()
        self.recalled = [None] * 3
        for name in RECALLED:
            names.pop(name, None)
