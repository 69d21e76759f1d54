package cfamily

import (
	"maps"
	"slices"
	"strings"
)

// standardHeaders returns the headers of C++ that snippets include only when they use a name of one
// of them: each takes the compiler time, and its names could be the user's own.
func standardHeaders() map[string][]string {
	return map[string][]string{
		"array": {"array", "to_array"}, "atomic": {"atomic"}, "bitset": {"bitset"},
		"chrono": {"chrono", "chrono_literals", "literals"}, "complex": {"complex"},
		"condition_variable": {"condition_variable", "condition_variable_any"},
		"deque":              {"deque"}, "filesystem": {"filesystem"}, "fstream": {"fstream", "ifstream", "ofstream"},
		"functional": {"bind", "cref", "function", "greater", "hash", "less", "placeholders", "plus", "ref"},
		"future":     {"async", "future", "launch", "promise"},
		"iomanip":    {"put_time", "quoted", "setfill", "setprecision", "setw"},
		"list":       {"list"}, "mutex": {"call_once", "lock_guard", "mutex", "once_flag", "scoped_lock", "unique_lock"},
		"numbers": {"numbers"}, "optional": {"make_optional", "nullopt", "optional"}, "queue": {"priority_queue", "queue"},
		"random": {"bernoulli_distribution", "mt19937", "mt19937_64", "normal_distribution", "random_device", "uniform_int_distribution", "uniform_real_distribution"},
		"ranges": {"ranges", "views"}, "regex": {"regex", "regex_match", "regex_replace", "regex_search", "smatch", "sregex_iterator"},
		"span": {"span"}, "sstream": {"istringstream", "ostringstream", "stringstream"}, "stack": {"stack"},
		"thread": {"jthread", "this_thread", "thread"}, "tuple": {"apply", "make_tuple", "tie", "tuple"},
		"unordered_set": {"unordered_set"}, "variant": {"get_if", "holds_alternative", "monostate", "variant", "visit"},
	}
}

// includeNamed includes the headers for the names of the form std::NAME in code, whose comments and texts
// are blank.
func includeNamed(headers map[string][]string, blank string) string {
	of := make(map[string]string)
	for header, names := range headers {
		for _, name := range names {
			of[name] = header
		}
	}
	found := make(map[string]bool)
	for _, rest, ok := strings.Cut(blank, "std::"); ok; _, rest, ok = strings.Cut(rest, "std::") {
		name := rest
		if end := strings.IndexFunc(rest, notOfName); end >= 0 {
			name = rest[:end]
		}
		if header := of[name]; header != "" {
			found[header] = true
		}
	}
	var lines strings.Builder
	for _, header := range slices.Sorted(maps.Keys(found)) {
		lines.WriteString("#include <" + header + ">\n")
	}
	return lines.String()
}

func notOfName(r rune) bool {
	return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
}
