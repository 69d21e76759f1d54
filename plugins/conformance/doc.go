// Package conformance is what every language runtime is held to. It is for the tests
// of the runtimes that ship and of anybody else's; "yurt runtime test" runs it.
//
// A runtime brings samples, one small program for each thing that a language must be
// able to do ([Samples]); what they must print is the same for all languages. Each
// [Case] runs one in a real sandbox, which the caller provides ([Target]), and says
// what is not as it has to be. After each, the sandbox must be usable.
package conformance
