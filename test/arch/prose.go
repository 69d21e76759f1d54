package arch

import (
	"fmt"
	"go/ast"
	"regexp"
	"strings"
)

// Prose counts the words of comments, and among them those that stand where a concrete noun would say more.
type Prose struct {
	Words int
	Vague int // "what", "who" and "whoever", as nouns or not
	Empty int // "nobody", "nothing" and "none"
}

// The goals: the most that comments may hold of each kind, in 1,000 words. Codebases that read well hold a tenth of it.
const (
	VagueGoal = 4.0
	EmptyGoal = 2.5
)

// CountProse counts the comments of a Go file that was written by hand.
func CountProse(s Source) Prose {
	var count Prose
	if ast.IsGenerated(s.AST) {
		return count
	}
	for _, group := range s.AST.Comments {
		count = count.Add(countWords(group.Text()))
	}
	return count
}

var aWord = regexp.MustCompile(`[A-Za-z']+`)

func countWords(text string) Prose {
	var count Prose
	for _, w := range aWord.FindAllString(text, -1) {
		count.Words++
		switch strings.ToLower(w) {
		case "what", "who", "whoever", "whatever":
			count.Vague++
		case "nobody", "nothing", "none":
			count.Empty++
		}
	}
	return count
}

// Add returns the sum of both counts.
func (p Prose) Add(other Prose) Prose {
	return Prose{Words: p.Words + other.Words, Vague: p.Vague + other.Vague, Empty: p.Empty + other.Empty}
}

// CheckProse reports comments that hold more of either kind than the limits allow, in 1,000 words.
func CheckProse(where string, p Prose, vagueLimit, emptyLimit float64) []string {
	var broken []string
	for _, kind := range []struct {
		words string
		count int
		limit float64
	}{
		{"what, who, whoever", p.Vague, vagueLimit},
		{"nobody, nothing, none", p.Empty, emptyLimit},
	} {
		if rate := 1000 * float64(kind.count) / float64(max(p.Words, 1)); rate > kind.limit {
			broken = append(broken, fmt.Sprintf("%s: %q stand %.1f times in 1,000 words, and %.1f is the most: "+
				"name the thing that the sentence is about, since a reader cannot see it from these words", where, kind.words, rate, kind.limit))
		}
	}
	return broken
}
