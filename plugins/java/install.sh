#!/bin/sh
# Downloads the libraries of a Java program: install.sh JAVA MVN LAYER
# pom.xml is beside this file. So are the settings that MVN would read from /etc, which a sandbox lacks.
set -eu
java=$1 mvn=$2 layer=$3
here=$(pwd)
home=$(dirname "$(dirname "$(readlink -f "$mvn")")")
mirror=${YURT_MAVEN_MIRROR:-}
proxy_host=${YURT_PROXY%:*} proxy_port=${YURT_PROXY##*:}
mkdir -p "$layer/lib" /tmp/m2
{
	echo '<settings><localRepository>/tmp/m2</localRepository><interactiveMode>false</interactiveMode><proxies>'
	for protocol in http https; do
		echo "<proxy><id>$protocol</id><active>true</active><protocol>$protocol</protocol><host>$proxy_host</host><port>$proxy_port</port><nonProxyHosts></nonProxyHosts></proxy>"
	done
	echo '</proxies>'
	[ -z "$mirror" ] || echo "<mirrors><mirror><id>mirror</id><mirrorOf>*</mirrorOf><url>$mirror</url></mirror></mirrors>"
	echo '</settings>'
} >settings.xml
cat >m2.conf <<'END'
main is org.apache.maven.cli.MavenCli from plexus.core
[plexus.core]
optionally ${maven.home}/lib/ext/*.jar
load ${maven.home}/lib/*.jar
END
"$java" -Xmx512m -XX:TieredStopAtLevel=1 -cp "$(echo "$home"/boot/plexus-classworlds-*.jar)" \
	-Dclassworlds.conf="$here/m2.conf" -Dmaven.home="$home" -Dmaven.conf="$here" -Dmaven.multiModuleProjectDirectory="$here" -Duser.home=/tmp \
	org.codehaus.plexus.classworlds.launcher.Launcher \
	--batch-mode --no-transfer-progress --settings settings.xml --global-settings settings.xml --file pom.xml \
	org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies -DoutputDirectory="$layer/lib" -DincludeScope=runtime
