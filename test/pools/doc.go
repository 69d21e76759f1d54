// Package pools holds warm pools to their promises on a real cluster: Nomad, Consul,
// PostgreSQL, several controllers.
package pools
