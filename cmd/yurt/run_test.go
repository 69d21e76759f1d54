package main

import (
	"testing"
)

func TestDefinesHandler(t *testing.T) {
	tests := []struct {
		code string
		want bool
	}{
		{"def handler(event):\n    pass\n", true},
		{"import os\nasync def handler(event, context):\n    pass\n", true},
		{"async  def handler (event): ...", true},
		{"handler = make()\n", true},
		{"handler: Callable = make()\n", true},
		{"from app import handler\n", true},
		{"from app import helper, handler\n", true},
		{"exports.handler = async (event) => 1\n", true},
		{"export const handler = async (event) => 1\n", true},
		{"export async function handler(event) {}\n", true},
		{"print('hello')\n", false},
		{"def handlers(): pass\n", false},
		{"def my_handler(event): pass\n", false},
		{"class A:\n    def handler(self): pass\n", false},
		{"# def handler(event):\n", false},
		{"if handler == 1: pass\n", false},
		{"handler == 1\n", false},
		{"from app import handlers\n", false},
		{"", false},
	}
	for _, tt := range tests {
		if got := definesHandler(tt.code); got != tt.want {
			t.Errorf("definesHandler(%q) = %t, want %t", tt.code, got, tt.want)
		}
	}
}
