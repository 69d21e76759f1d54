import java.nio.charset.StandardCharsets;

System.out.print(new String(System.in.readAllBytes(), StandardCharsets.UTF_8).toUpperCase());
