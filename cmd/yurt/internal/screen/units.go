package screen

import (
	"strconv"
	"time"
)

// Size writes a number of bytes in the largest binary unit of which there is one, with one
// digit after the point where that says more: "21.5 GiB", "512 MiB", "17 B".
func Size(bytes int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	value, unit := float64(bytes), 0
	for (value >= 1023.95 || value <= -1023.95) && unit < len(units)-1 {
		value, unit = value/1024, unit+1
	}
	return Number(value, 1) + " " + units[unit]
}

// Number writes a number with at most so many digits after the point, and no zeros there.
func Number(value float64, digits int) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(value, 'f', digits, 64), 64)
	if err != nil { // of a number that was just written, never
		rounded = value
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// Ago says how long before now a time was, in its largest unit: "5m" or "2d".
func Ago(at, now time.Time) string {
	d := max(now.Sub(at), 0)
	switch {
	case d >= 24*time.Hour:
		return strconv.Itoa(int(d.Hours()/24)) + "d"
	case d >= time.Hour:
		return strconv.Itoa(int(d.Hours())) + "h"
	case d >= time.Minute:
		return strconv.Itoa(int(d.Minutes())) + "m"
	default:
		return strconv.Itoa(int(d.Seconds())) + "s"
	}
}

// Count says how many there are, in the singular or the plural.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
