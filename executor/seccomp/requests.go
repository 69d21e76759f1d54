package seccomp

import "golang.org/x/sys/unix"

// Requests of ioctl(2) of which x/sys/unix has no names.
const (
	fioNonBlock  = 0x5421
	fioAsync     = 0x5452
	fioNoCloExec = 0x5450
	fioCloExec   = 0x5451
	fioQSize     = 0x5460
	fiBMap       = 0x1
	fiGetBlock   = 0x2
	fiClone      = 0x40049409
	fiCloneRange = 0x4020940d
	fiDedupe     = 0xc0189436
	fsFlags      = 0x80086601
	fsVersion    = 0x80087601
	fsAttributes = 0x801c581f
	fsLabel      = 0x81009431
	fieMap       = 0xc020660b
	sioSetOwner  = 0x8902
	fioSetOwner  = 0x8901
	fioGetOwner  = 0x8903
	sioGetOwner  = 0x8904
	sioAtMark    = 0x8905
	sioStamp     = 0x8906
	sioStampNS   = 0x8907
	sioEthtool   = 0x8946
	tioGSerial   = 0x541e
	tcGets2      = 0x802c542a
	tcSets2      = 0x402c542b
	tcSetsW2     = 0x402c542c
	tcSetsF2     = 0x402c542d
	tioGPTPeer   = 0x5441
	tioGPTLock   = 0x80045439
	tioGPkt      = 0x80045438
)

// terminalRequests are those that a program at a terminal, and one that has made a terminal, make.
// TIOCSTI, which types, and TIOCSETD, which loads line disciplines, are not among them.
func terminalRequests() []uint64 {
	return []uint64{
		unix.TCGETS, unix.TCSETS, unix.TCSETSW, unix.TCSETSF, tcGets2, tcSets2, tcSetsW2, tcSetsF2, unix.TCGETA, unix.TCSETA, unix.TCSETAW,
		unix.TCSETAF, unix.TCSBRK, unix.TCSBRKP, unix.TCXONC, unix.TCFLSH, unix.TIOCEXCL, unix.TIOCNXCL, unix.TIOCSCTTY, unix.TIOCNOTTY,
		unix.TIOCGPGRP, unix.TIOCSPGRP, unix.TIOCGSID, unix.TIOCOUTQ, unix.TIOCINQ, unix.TIOCGWINSZ, unix.TIOCSWINSZ, unix.TIOCPKT, unix.TIOCGETD,
		unix.TIOCGPTN, unix.TIOCSPTLCK, tioGPTLock, tioGPkt, tioGPTPeer,
	}
}

// fileRequests are about descriptors and files.
func fileRequests() []uint64 {
	return []uint64{
		fioNonBlock, fioAsync, fioNoCloExec, fioCloExec, fioQSize, fiGetBlock, fiClone, fiCloneRange, fiDedupe, fsFlags, fsVersion, fsAttributes,
		fsLabel, fieMap,
	}
}

// socketRequests ask about sockets and interfaces; no request of them changes an interface.
func socketRequests() []uint64 {
	return []uint64{
		fioGetOwner, sioGetOwner, sioAtMark, sioStamp, sioStampNS, unix.SIOCGIFNAME, unix.SIOCGIFCONF, unix.SIOCGIFFLAGS,
		unix.SIOCGIFADDR, unix.SIOCGIFDSTADDR, unix.SIOCGIFBRDADDR, unix.SIOCGIFNETMASK, unix.SIOCGIFMETRIC, unix.SIOCGIFMTU, unix.SIOCGIFHWADDR,
		unix.SIOCGIFINDEX, unix.SIOCGIFTXQLEN, unix.SIOCGIFMAP,
	}
}

// initRequests are those of yurt-init, which is under the list too, about calls that the kernel hands
// over to it. No other process has a descriptor that takes them.
func initRequests() []uint64 {
	return []uint64{0xc0502100, 0xc0182101, 0x40082102, 0x40182103, 0x40082104}
}

func requests() Group {
	return Group{
		Name: "requests to devices",
		Reason: "Programs set up terminals, and ask about files and interfaces. Other requests, which every driver has of its own, are refused, " +
			"TIOCSTI and TIOCSETD among them; of the settings of network cards programs learn that there are none.",
		Rules: slicesOf(
			each(Allow, "ioctl", 1, terminalRequests()),
			each(Allow, "ioctl", 1, fileRequests()),
			each(Allow, "ioctl", 1, socketRequests()),
			each(Allow, "ioctl", 1, initRequests()),
			each(unix.EOPNOTSUPP, "ioctl", 1, []uint64{sioEthtool}),
			each(unix.EINVAL, "ioctl", 1, []uint64{fioSetOwner, sioSetOwner}), // by fcntl, which yurt-init counts
		),
	}
}
