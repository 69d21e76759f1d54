package yurt

import (
	"encoding/json"
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Size is a number of bytes. In JSON it is read as a number of bytes or as a
// string such as "512Mi" or "1.5GB", and written as a number.
type Size int64

type sizeUnit struct {
	suffix string
	bytes  float64
}

// sizeUnits lists longer suffixes first, so that the first match is the right one.
func sizeUnits() []sizeUnit {
	return []sizeUnit{
		{"KiB", 1 << 10},
		{"MiB", 1 << 20},
		{"GiB", 1 << 30},
		{"TiB", 1 << 40},
		{"Ki", 1 << 10},
		{"Mi", 1 << 20},
		{"Gi", 1 << 30},
		{"Ti", 1 << 40},
		{"KB", 1e3},
		{"kB", 1e3},
		{"MB", 1e6},
		{"GB", 1e9},
		{"TB", 1e12},
		{"K", 1e3},
		{"k", 1e3},
		{"M", 1e6},
		{"G", 1e9},
		{"T", 1e12},
		{"B", 1},
	}
}

// ParseSize reads a size such as "512Mi", "1.5GB" or "1048576".
func ParseSize(text string) (Size, error) {
	number, unit := strings.TrimSpace(text), 1.0
	for _, u := range sizeUnits() {
		if head, ok := strings.CutSuffix(number, u.suffix); ok {
			number, unit = strings.TrimSpace(head), u.bytes
			break
		}
	}
	value, err := strconv.ParseFloat(number, 64)
	if (err != nil && !errors.Is(err, strconv.ErrRange)) || math.IsNaN(value) {
		return 0, Errorf(CodeInvalidArgument, "%q is not a size; give bytes, or a number with Ki, Mi, Gi, Ti, K, M, G or T", text)
	}
	bytes := value * unit
	if bytes < math.MinInt64/2 || bytes > math.MaxInt64/2 {
		return 0, Errorf(CodeLimitOutOfRange, "%q is beyond what a size can hold", text)
	}
	if bytes != 0 && Size(bytes) == 0 { // zero would stand for a default
		return 0, Errorf(CodeLimitOutOfRange, "%q is less than one byte", text)
	}
	return Size(bytes), nil
}

// ParseCPU reads a number of cores: "1", "0.5", or "500m" in thousandths of a core.
func ParseCPU(text string) (float64, error) {
	number, milli := strings.CutSuffix(strings.TrimSpace(text), "m")
	cores, err := strconv.ParseFloat(number, 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange), math.IsNaN(cores):
		return 0, Errorf(CodeInvalidArgument, "%q is not a number of cores; give one such as \"0.5\", or \"500m\" in thousandths of a core", text)
	case math.IsInf(cores, 0):
		return 0, Errorf(CodeLimitOutOfRange, "%q is beyond what a number can hold; give %v to %v cores", text, MinCPU, MaxCPU)
	case milli:
		return cores / 1000, nil
	}
	return cores, nil
}

// String writes s in the largest binary unit that divides it.
func (s Size) String() string {
	units := []string{"", "Ki", "Mi", "Gi", "Ti"}
	value, unit := int64(s), 0
	for value != 0 && value%1024 == 0 && unit < len(units)-1 {
		value, unit = value/1024, unit+1
	}
	return strconv.FormatInt(value, 10) + units[unit]
}

// UnmarshalJSON reads a number of bytes or a string for [ParseSize].
func (s *Size) UnmarshalJSON(data []byte) error {
	text, err := stringOrNumber(data, "size")
	if err != nil {
		return err
	}
	size, err := ParseSize(text)
	if err != nil {
		return err
	}
	*s = size
	return nil
}

// Duration is a span of time. In JSON it is read as a number of seconds or as a
// string such as "30s" or "1h30m", and written as a number of seconds.
type Duration time.Duration

// durationForm is the form of a duration with units, however long.
var durationForm = regexp.MustCompile(`^[-+]?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))+$`)

// ParseDuration reads a duration such as "30s", "1h30m" or a plain number of seconds.
func ParseDuration(text string) (Duration, error) {
	text = strings.TrimSpace(text)
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		d, err := time.ParseDuration(text)
		if err != nil && durationForm.MatchString(text) { // it is right but for its size
			return 0, Errorf(CodeLimitOutOfRange, "%q is beyond what a duration can hold", text)
		}
		if err != nil {
			return 0, Errorf(CodeInvalidArgument, "%q is not a duration; give seconds, or a string such as \"30s\" or \"1h30m\"", text)
		}
		seconds = d.Seconds()
	}
	// Half the range of the type, so that sums and differences do not overflow.
	nanos := seconds * float64(time.Second)
	if math.IsNaN(nanos) || math.Abs(nanos) > math.MaxInt64/2 {
		return 0, Errorf(CodeLimitOutOfRange, "%q is beyond what a duration can hold", text)
	}
	if nanos != 0 && math.Round(nanos) == 0 { // zero would stand for a default
		return 0, Errorf(CodeLimitOutOfRange, "%q is less than a nanosecond", text)
	}
	// Rounded: seconds such as 1.000000007 are not exact, and have to come back from
	// JSON as they were.
	return Duration(math.Round(nanos)), nil
}

// Std returns d as the standard library's type.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String writes d as time.Duration does.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalJSON writes seconds.
func (d Duration) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, time.Duration(d).Seconds(), 'f', -1, 64), nil
}

// UnmarshalJSON reads a number of seconds or a string for [ParseDuration].
func (d *Duration) UnmarshalJSON(data []byte) error {
	text, err := stringOrNumber(data, "duration")
	if err != nil {
		return err
	}
	parsed, err := ParseDuration(text)
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}

// CPU is a number of cores as a request writes it: a number, or a string for [ParseCPU].
type CPU float64

// UnmarshalJSON reads a number of cores or a string for [ParseCPU].
func (c *CPU) UnmarshalJSON(data []byte) error {
	text, err := stringOrNumber(data, "number of cores")
	if err != nil {
		return err
	}
	cores, err := ParseCPU(text)
	if err != nil {
		return err
	}
	*c = CPU(cores)
	return nil
}

func stringOrNumber(data []byte, what string) (string, error) {
	var text string
	if err := json.Unmarshal(data, &text); err == nil {
		return text, nil
	}
	var number json.Number
	if err := json.Unmarshal(data, &number); err != nil {
		return "", Errorf(CodeInvalidArgument, "%s must be a number or a string", what)
	}
	return number.String(), nil
}
