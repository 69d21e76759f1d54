package taskspec

import (
	"os/user"
	"strconv"
	"strings"

	"github.com/yurtrun/yurt"
)

// nobody is the user of that name in every sandbox.
const nobody = 65534

// userOf reads the user of a task: a name that every sandbox knows, a name that the node knows, or the number of a user, with a
// group if that differs from the user's number. The ids hold inside the sandbox, and for the node's files that it mounts; on the
// node its processes have ids of their own, which no other process has.
func userOf(text string) (*yurt.User, error) {
	switch text {
	case "", "user", "1000", "1000:1000":
		return nil, nil //nolint:nilnil // the user that all run as
	case "nobody":
		return &yurt.User{UID: nobody, GID: nobody}, nil
	case "root":
		return nil, (&yurt.User{}).Validate("user")
	}
	if known, err := user.Lookup(text); err == nil {
		text = known.Uid + ":" + known.Gid
	}
	uid, gid, found := strings.Cut(text, ":")
	if !found {
		gid = uid
	}
	numbers := make([]uint32, 0, 2)
	for _, part := range []string{uid, gid} {
		number, err := strconv.ParseUint(part, 10, 32)
		if err != nil {
			return nil, yurt.FieldErrorf(yurt.CodeInvalidArgument, "user", "neither a sandbox nor this node has a user %q; give user, nobody, a user of the node, or numbers such as 1000 or 1000:1000", text)
		}
		numbers = append(numbers, uint32(number))
	}
	u := &yurt.User{UID: numbers[0], GID: numbers[1]}
	return u, u.Validate("user")
}
