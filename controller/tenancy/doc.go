// Package tenancy divides a store among tenants.
//
// [Of] returns a store for a controller, over the one store of all tenants. Each of its methods looks at the caller that the context
// carries (package access): a caller reaches the records of its tenant, and those of others are not there for it, with the same
// errors as records that never were. The server itself reaches all. A context without a caller is refused, so a door that forgot
// to ask for a key shows no data.
//
// The type implements each method of the store by hand and embeds no store: the compiler asks about a method that is new.
package tenancy
