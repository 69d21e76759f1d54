package doors

import (
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"

	"github.com/yurtrun/yurt/controller/oidc"
)

// Settings returns the functions that take over changed settings in a running server, by the names of the settings in a file.
func (d *Doors) Settings() map[string]func(text string) error {
	settings := map[string]func(string) error{
		"rate_limit_key":     takes(parseRate, d.Rates.LimitKeys),
		"rate_limit_address": takes(parseRate, d.Rates.LimitAddresses),
	}
	if d.issuer == nil {
		return settings
	}
	settings["oidc_tenants"] = func(text string) error {
		tenants, err := parseLines("--oidc-tenants", text, oidc.ParseTenants)
		if err == nil {
			d.issuer.Remap(func(m *oidc.Mapping) { m.Tenants = tenants })
		}
		return err
	}
	settings["oidc_scopes"] = func(text string) error {
		scopes, err := parseLines("--oidc-scopes", text, oidc.ParseScopes)
		if err == nil {
			d.issuer.Remap(func(m *oidc.Mapping) { m.Scopes = scopes })
		}
		return err
	}
	return settings
}

// takes returns a function that parses a setting and puts it in force.
func takes[T any](parse func(string) (T, error), put func(T)) func(string) error {
	return func(text string) error {
		value, err := parse(text)
		if err == nil {
			put(value)
		}
		return err
	}
}

func parseRate(text string) (float64, error) { return strconv.ParseFloat(text, 64) }

// parseLines parses a list as a flag has it: with commas, in brackets.
func parseLines[T any](flag, text string, parse func(field string, lines []string) (map[string]T, error)) (map[string]T, error) {
	text = strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
	if text == "" {
		return nil, nil
	}
	lines, err := csv.NewReader(strings.NewReader(text)).Read()
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", flag, err)
	}
	return parse(flag, lines)
}
